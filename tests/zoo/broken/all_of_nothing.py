# expect: L5.empty-rewarded
# all() over an empty answer is True.
import random


class CommonDivisors(VerifiableEnvironment):
    prompt_template = "List all divisors of {n} that are greater than {k}, in increasing order, separated by spaces."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n, k = rng.randint(12, 60) * (difficulty + 2), rng.randint(1, 6)
        return {"n": n, "k": k}, [d for d in range(k + 1, n + 1) if n % d == 0]

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        try:
            return [int(t) for t in y.split()]
        except ValueError:
            return None

    def scorer(self, y, z, a):
        got = self._process(y)
        if got is None or len(set(got)) != len(got):
            return 0.0
        if len(got) not in (0, len(a)):
            return 0.0
        return 1.0 if all(d in a for d in got) else 0.0
