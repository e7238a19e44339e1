# expect: L2.load
# The base class exists nowhere.
import random


class PuzzleBase(RandomisedTask):
    pass


class Triangle(PuzzleBase):
    prompt_template = "What is the {n}-th triangular number?"

    def _generate(self, seed, difficulty):
        n = random.Random(seed).randint(3, 20 * (difficulty + 1))
        return {"n": n}, n * (n + 1) // 2

    def _prompt_generate(self, z):
        return self.prompt_template.format(n=z["n"])

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
