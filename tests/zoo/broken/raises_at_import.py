# expect: L2.load
# A self-test at module level fails while the file is loaded.
import random


def binomial(n, k):
    out = 1
    for i in range(k):
        out = out * (n - i) // (i + 1)
    return out


assert binomial(5, 2) == 11, "self-test failed"


class Binomial(VerifiableEnvironment):
    prompt_template = "What is the binomial coefficient C({n}, {k})?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = rng.randint(6, 12 + difficulty)
        k = rng.randint(2, n - 2)
        return {"n": n, "k": k}, binomial(n, k)

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
