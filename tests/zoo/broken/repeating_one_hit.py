# expect: L5.flood-rewarded
# Hits are counted with repetition: one right element, written as often as needed, earns everything.
import random


class FindPrimes(VerifiableEnvironment):
    prompt_template = "The list {numbers} contains exactly {k} primes. Write them, separated by spaces."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        while True:
            numbers = rng.sample(range(2, 120), 8 + 2 * difficulty)
            primes = [n for n in numbers if all(n % d for d in range(2, int(n**0.5) + 1))]
            if len(primes) >= 2:
                return {"numbers": numbers, "k": len(primes)}, primes

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        try:
            return [int(t) for t in y.split()] or None
        except ValueError:
            return None

    def scorer(self, y, z, a):
        named = self._process(y)
        if named is None or len(named) != len(a):
            return 0.0
        return sum(n in a for n in named) / len(a)
