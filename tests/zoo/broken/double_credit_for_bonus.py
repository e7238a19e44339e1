# expect: L5.score-range
# Extra elements earn extra points: a flood goes beyond 1.
import random


class ListDivisors(VerifiableEnvironment):
    prompt_template = "List the divisors of {n}, separated by spaces, in any order."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = rng.choice((6, 10, 12, 15, 18, 20, 28, 30)) * rng.randint(1, 5 + 3 * difficulty)
        return {"n": n}, [d for d in range(1, n + 1) if n % d == 0]

    def _prompt_generate(self, z):
        return self.prompt_template.format(n=z["n"])

    def _process(self, y):
        try:
            return [int(t) for t in y.split()] or None
        except ValueError:
            return None

    def scorer(self, y, z, a):
        named = self._process(y)
        if named is None or 0 in named:
            return 0.0
        return sum(z["n"] % d == 0 for d in named) / len(a)
