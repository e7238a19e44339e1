# expect: sound
import random, re, math, itertools
class E(VerifiableEnvironment):
    prompt_template = 'x'
    def _generate(self, seed, difficulty):
        r = random.Random(seed)
        n = 2 + difficulty
        f = [r.randrange(-5, 6) for _ in range(n)]
        out = [1]
        for k in f:
            out = [x - k * y for x, y in zip(out + [0], [0] + out)]
        return f, ' '.join('%+d*x^%d' % (c, n - i) for i, c in enumerate(out))
    def _prompt_generate(self, z):
        return 'Expand the product of ' + ' '.join('(x%+d)' % -k for k in z) + '. Write every term, highest power first, like +1*x^2 -3*x^1 +2*x^0.'
    def _process(self, y):
        return y.strip() or None
    def scorer(self, y, z, a):
        p = self._process(y)
        return 1.0 if p is not None and p == a else 0.0
