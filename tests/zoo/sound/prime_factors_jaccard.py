# expect: sound
import random


class DistinctPrimes(VerifiableEnvironment):
    """Jaccard similarity of two sets as partial credit."""

    prompt_template = "List the distinct prime numbers that divide {n}, separated by spaces, in any order."

    PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        primes = rng.sample(self.PRIMES, min(7, 3 + difficulty // 2))
        n = 1
        for p in primes:
            n *= p ** rng.randint(1, 2)
        return {"n": n}, sorted(primes)

    def _prompt_generate(self, z):
        return self.prompt_template.format(n=z["n"])

    def _process(self, y):
        tokens = y.replace(",", " ").split()
        if not tokens or len(tokens) > 50:
            return None
        try:
            return {int(t) for t in tokens}
        except ValueError:
            return None

    def scorer(self, y, z, a):
        named = self._process(y)
        if not named:
            return 0.0
        right = set(a)
        return len(named & right) / len(named | right)
