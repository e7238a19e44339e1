# expect: L5.perturbed-accepted
# Any beginning of the right word passes, and any text with it.
import random, re, math, itertools
class E(VerifiableEnvironment):
    prompt_template = 'x'
    def _generate(self, seed, difficulty):
        r = random.Random(seed)
        a, b = r.randrange(2, 10 ** (difficulty + 2)), r.randrange(2, 30)
        a = a * b if r.random() < 0.5 else a * b + 1
        return [a, b], 'yes' if a % b == 0 else 'no'
    def _prompt_generate(self, z):
        return 'Is %d divisible by %d? yes or no' % tuple(z)
    def _process(self, y):
        y = y.strip().lower()
        return y[:1] if y[:1] in ("y", "n") else None
    def scorer(self, y, z, a):
        p = self._process(y)
        return 1.0 if p == a[0] else 0.0
