# expect: L5.shortcut
# Any divisor is accepted, and 1 divides everything.
import random


class FindDivisor(VerifiableEnvironment):
    prompt_template = "Find a positive divisor of {n} that is at most {k}."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        d = rng.randint(7, 15 + 5 * difficulty)
        n = d * rng.randint(11, 40)
        return {"n": n, "k": d + rng.randint(0, 5)}, d

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        try:
            return int(y.strip())
        except ValueError:
            return None

    def scorer(self, y, z, a):
        d = self._process(y)
        return 1.0 if d is not None and 1 <= d <= z["k"] and z["n"] % d == 0 else 0.0
