# expect: L5.scorer-slow
# The answer is tested for primality by trial division, however large it is.
import random


def is_prime(n):
    if n < 2:
        return False
    d = 2
    while d * d <= n:
        if n % d == 0:
            return False
        d += 1
    return True


class PrimeBetween(VerifiableEnvironment):
    prompt_template = "Name any prime number p that leaves the remainder {r} when divided by {m} and is greater than {lo}."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        m = rng.choice((4, 6, 10, 12))
        r = rng.choice([x for x in range(1, m) if all(x % q or m % q for q in (2, 3, 5))])
        lo = rng.randint(20, 300 * (difficulty + 1))
        p = lo + 1
        while p % m != r or not is_prime(p):
            p += 1
        return {"m": m, "r": r, "lo": lo}, p

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        try:
            return int(y.strip())
        except ValueError:
            return None

    def scorer(self, y, z, a):
        p = self._process(y)
        if p is None or p <= z["lo"]:
            return 0.0
        return 1.0 if is_prime(p) and p % z["m"] == z["r"] else 0.0
