# expect: L5.malformed-rewarded
# What cannot be parsed is read as 0, and 0 earns partial credit as a number near the answer.
import random


class FloorDifference(VerifiableEnvironment):
    prompt_template = "What is the difference (first minus second) of the digit sums of {x} and {y}?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        x, y = (rng.randint(10 ** (2 + difficulty), 10 ** (3 + difficulty)) for _ in range(2))
        return {"x": x, "y": y}, sum(map(int, str(x))) - sum(map(int, str(y)))

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        try:
            return int(y.strip())
        except ValueError:
            return 0

    def scorer(self, y, z, a):
        return 1.0 / (1 + abs(self._process(y) - a))
