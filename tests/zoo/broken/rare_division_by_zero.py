# expect: L2.rare-crash
# One draw in twenty-five makes the divisor zero.
import random


class RemainderChain(VerifiableEnvironment):
    prompt_template = "What is ({a} * {b}) mod {m}?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        a, b = rng.randint(10, 99 * (difficulty + 1)), rng.randint(10, 99)
        m = rng.randint(0, 24)
        return {"a": a, "b": b, "m": m}, (a * b) % m

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
