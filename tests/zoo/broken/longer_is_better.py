# expect: L5.malformed-rewarded
# The reward grows with the answer's length.
import random


class ExplainedSum(VerifiableEnvironment):
    prompt_template = "Spell the sum of {x} and {y} digit by digit in English words, separated by spaces."
    WORDS = "zero one two three four five six seven eight nine".split()

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        x, y = rng.randint(10, 10 ** (2 + difficulty // 2)), rng.randint(10, 10 ** (2 + difficulty // 2))
        return {"x": x, "y": y}, " ".join(self.WORDS[int(c)] for c in str(x + y))

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        return y.strip().lower() or None

    def scorer(self, y, z, a):
        text = self._process(y)
        if text is None:
            return 0.0
        if text == a:
            return 1.0
        return min(1.0, len(text) / 400)
