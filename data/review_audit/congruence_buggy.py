import random
import re


class Congruence(VerifiableEnvironment):
    prompt_template = (
        "Find a whole number x with 0 <= x < {m} such that {a} * x leaves the remainder {b} when divided by {m}."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        common = rng.randint(2, 4)
        m = common * rng.randint(5, 12 + 8 * difficulty)
        a = common * rng.randint(2, 9 + 2 * difficulty)
        x = rng.randrange(m)
        b = a * x % m
        return {"a": a, "b": b, "m": m}, x

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        match = re.fullmatch(r"\s*(\d{1,9})\s*", y)
        return int(match.group(1)) if match else None

    def scorer(self, y, z, a):
        x = self._process(y)
        return 1.0 if x is not None and x == a else 0.0
