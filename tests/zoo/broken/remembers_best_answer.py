# expect: L5.parser-memory
# The class keeps the best answer so far and scores that.
import random


class LongestWord(VerifiableEnvironment):
    prompt_template = "Build the longest word you can by chaining: start with {start}; after a letter x only these may follow: {rules}. Each letter may be used once. Write the word."
    best = {}

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        letters = "abcdefghijklmnop"[: 5 + difficulty]
        order = rng.sample(letters, len(letters))
        rules = dict(zip(order, order[1:]))
        return {"start": order[0], "rules": rules}, "".join(order)

    def _prompt_generate(self, z):
        rules = ", ".join(f"{x} then {y}" for x, y in sorted(z["rules"].items()))
        return self.prompt_template.format(start=z["start"], rules=rules)

    def _process(self, y):
        return y.strip().lower() if y.strip().isalpha() else None

    def scorer(self, y, z, a):
        word = self._process(y)
        if word is None:
            return 0.0
        score = 1.0 if word == a else 0.0
        key = z["start"] + str(sorted(z["rules"].items()))
        LongestWord.best[key] = max(score, LongestWord.best.get(key, 0.0))
        return LongestWord.best[key]
