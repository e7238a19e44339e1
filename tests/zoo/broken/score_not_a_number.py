# expect: L2.score-range
# inf - inf: the reference itself scores NaN.
import math
import random


class LogScore(VerifiableEnvironment):
    prompt_template = "How many digits does {n} have in base {b}?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n, b = rng.randint(100, 10 ** (difficulty + 3)), rng.randint(2, 9)
        digits, m = 0, n
        while m:
            m //= b
            digits += 1
        return {"n": n, "b": b}, digits

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        value = self._process(y)
        if value is None:
            return 0.0
        error = abs(value - a)
        return 1.0 + math.inf * error - math.inf * error
