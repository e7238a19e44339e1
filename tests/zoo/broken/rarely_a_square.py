# expect: L4.answer-nearly-constant
# A random number is almost never a perfect square: "no" is right nearly always.
import math
import random


class PerfectSquare(VerifiableEnvironment):
    prompt_template = "Is {n} a perfect square? Answer yes or no."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = rng.randint(50, 1000 * 4**difficulty)
        return {"n": n}, "yes" if math.isqrt(n) ** 2 == n else "no"

    def _prompt_generate(self, z):
        return self.prompt_template.format(n=z["n"])

    def _process(self, y):
        word = y.strip().lower()
        return word if word in ("yes", "no") else None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
