# expect: L2.load
# The class cannot be instantiated without an argument that nobody passes.
import random


class Ladder(VerifiableEnvironment):
    prompt_template = "In how many ways can you climb {n} stairs with steps of 1 or 2?"

    def __init__(self, config):
        super().__init__()
        self.config = config

    def _generate(self, seed, difficulty):
        n = random.Random(seed).randint(4, 8 + difficulty)
        a, b = 1, 1
        for _ in range(n):
            a, b = b, a + b
        return {"n": n}, a

    def _prompt_generate(self, z):
        return self.prompt_template.format(n=z["n"])

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
