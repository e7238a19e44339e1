# expect: sound
import random, re, math, itertools
class E(VerifiableEnvironment):
    prompt_template = 'x'
    def _generate(self, seed, difficulty):
        r = random.Random(seed)
        a, b = r.randrange(500, 1000), r.randrange(500, 1000)
        p = a * b
        gap = 200000 >> (2 * difficulty)
        c = r.randrange(500, 1000)
        d = (p + r.choice([-1, 1]) * (gap + r.randrange(1, 900))) // c
        if c * d == p:
            d += 1
        return [a, b, c, d], ('first' if p > c * d else 'second')
    def _prompt_generate(self, z):
        return 'Which product is larger: the first, %d x %d, or the second, %d x %d? Answer first or second.' % tuple(z)
    def _process(self, y):
        y = y.strip().lower()
        return y if y in ("first", "second") else None
    def scorer(self, y, z, a):
        p = self._process(y)
        return 1.0 if p is not None and p == a else 0.0
