# expect: sound
import math
import random


def extended(a, b):
    if b == 0:
        return 1, 0
    x, y = extended(b, a % b)
    return y, x - (a // b) * y


class Bezout(VerifiableEnvironment):
    """Infinitely many right answers."""

    prompt_template = (
        "Find integers x and y with {a}*x + {b}*y = {g}. Any solution is right. Answer with x and y separated by a comma."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        top = 30 + 40 * difficulty
        a, b = rng.randint(10, top), rng.randint(10, top)
        return {"a": a, "b": b, "g": math.gcd(a, b)}, list(extended(a, b))

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        parts = y.split(",")
        if len(parts) != 2:
            return None
        try:
            return int(parts[0]), int(parts[1])
        except ValueError:
            return None

    def scorer(self, y, z, a):
        pair = self._process(y)
        if pair is None:
            return 0.0
        return 1.0 if z["a"] * pair[0] + z["b"] * pair[1] == z["g"] else 0.0
