import random


class PrimesBetween(VerifiableEnvironment):
    """Count primes in a range."""

    prompt_template = "How many prime numbers p are there with {low} <= p <= {high}?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        low = rng.randint(2, 40 + 60 * difficulty)
        high = low + rng.randint(10, 40 + 30 * difficulty)
        sieve = [True] * (high + 1)
        sieve[0] = sieve[1] = False
        for p in range(2, int(high**0.5) + 1):
            if sieve[p]:
                for multiple in range(p * p, high + 1, p):
                    sieve[multiple] = False
        return {"low": low, "high": high}, sum(sieve[low:high])

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        try:
            return int(y.strip())
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
