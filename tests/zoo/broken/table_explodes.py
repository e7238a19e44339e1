# expect: L2.memory
# A table with ten to the difficulty entries.
import random


class CountCoprime(VerifiableEnvironment):
    prompt_template = "How many integers from 1 to {n} have a digit sum that is a multiple of {k}?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = rng.randint(10 ** (difficulty // 2 + 1), 2 * 10 ** (difficulty // 2 + 1))
        k = rng.randint(2, 7)
        scratch = [0] * 10 ** (difficulty + 2)
        scratch[0] = n
        return {"n": n, "k": k}, sum(sum(map(int, str(i))) % k == 0 for i in range(1, min(n, 3000) + 1))

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
