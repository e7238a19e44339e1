# expect: L5.scorer-raises
# float("inf") parses, int() of it overflows.
import random


class Bacteria(VerifiableEnvironment):
    prompt_template = "{n} bacteria double every hour; after each doubling {d} die. How many are there after {h} hours?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n, d, h = rng.randint(5, 20), rng.randint(1, 4), 2 + difficulty
        value = n
        for _ in range(h):
            value = 2 * value - d
        return {"n": n, "d": d, "h": h}, value

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        try:
            value = float(y.strip())
        except ValueError:
            return None
        return int(value) if value == int(value) else None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
