import random


class ModularInverse(VerifiableEnvironment):
    """Inverse modulo a prime."""

    prompt_template = (
        "{p} is a prime number. Find the whole number x from 1 to {last} for which {a} * x leaves the remainder 1 when "
        "divided by {p}."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        p = rng.randint(11, 60 + 60 * difficulty) | 1
        while not self._is_prime(p):
            p += 2
        a = rng.randint(2, p - 2)
        return {"p": p, "a": a}, pow(a, p - 2, p)

    def _is_prime(self, n):
        return n % 2 == 1 and n % 3 != 0 and n % 5 != 0

    def _prompt_generate(self, z):
        return self.prompt_template.format(p=z["p"], last=z["p"] - 1, a=z["a"])

    def _process(self, y):
        try:
            return int(y.strip())
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
