# expect: L3.answer-unstable
# The oracle estimates by simulation with the global generator.
import random


class DiceExpectation(VerifiableEnvironment):
    prompt_template = "{n} dice with {sides} sides are rolled. What is the expected value of the largest, in hundredths, rounded?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n, sides = rng.randint(2, 4 + difficulty), rng.randint(4, 12)
        total = sum(max(random.randint(1, sides) for _ in range(n)) for _ in range(100))
        return {"n": n, "sides": sides}, total

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
