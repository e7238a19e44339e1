# expect: sound
import random


class ParenthesesCheck(VerifiableEnvironment):
    """The reference is a bool; the prompt asks for True or False."""

    prompt_template = "Is this sequence of brackets correctly nested?\n{text}\nAnswer True or False."

    PAIRS = {"(": ")", "[": "]", "{": "}"}

    def _nested(self, rng, pairs):
        if pairs == 0:
            return ""
        inside = rng.randint(0, pairs - 1)
        opener = rng.choice("([{")
        return opener + self._nested(rng, inside) + self.PAIRS[opener] + self._nested(rng, pairs - 1 - inside)

    def _check(self, text):
        stack = []
        for c in text:
            if c in self.PAIRS:
                stack.append(self.PAIRS[c])
            elif not stack or stack.pop() != c:
                return False
        return not stack

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        text = self._nested(rng, 4 + 2 * difficulty)
        if rng.random() < 0.6:
            i, j = sorted(rng.sample(range(len(text)), 2))
            text = text[:i] + text[j] + text[i + 1 : j] + text[i] + text[j + 1 :]
        return {"text": text}, self._check(text)

    def _prompt_generate(self, z):
        return self.prompt_template.format(text=z["text"])

    def _process(self, y):
        return {"true": True, "false": False}.get(y.strip().lower())

    def scorer(self, y, z, a):
        parsed = self._process(y)
        return 1.0 if parsed is not None and parsed is a else 0.0
