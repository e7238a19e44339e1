# expect: sound
import random
import re


class GroupAnagrams(VerifiableEnvironment):
    """Groups in any order, written as nested lists."""

    prompt_template = "Group the words {words} into sets of anagrams. Write a list of lists, like [[ab, ba], [c]]; the order does not matter."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        words = set()
        while len(words) < 5 + difficulty:
            base = "".join(rng.choice("abcd") for _ in range(3))
            words.add(base)
            words.add("".join(rng.sample(base, 3)))
        words = sorted(words)
        rng.shuffle(words)
        groups = {}
        for word in words:
            groups.setdefault("".join(sorted(word)), []).append(word)
        shown = ", ".join("[" + ", ".join(g) + "]" for g in groups.values())
        return {"words": words}, f"[{shown}]"

    def _prompt_generate(self, z):
        return self.prompt_template.format(words=", ".join(z["words"]))

    def _process(self, y):
        text = re.sub(r"[\s'\"]", "", y)
        if not re.fullmatch(r"\[\[[a-z]+(?:,[a-z]+)*\](?:,\[[a-z]+(?:,[a-z]+)*\])*\]", text):
            return None
        return sorted(sorted(group.split(",")) for group in re.findall(r"\[([a-z,]+)\]", text))

    def scorer(self, y, z, a):
        groups = self._process(y)
        return 1.0 if groups is not None and groups == self._process(a) else 0.0
