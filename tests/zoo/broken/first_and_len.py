# expect: L5.perturbed-accepted
# Only the first letter and the length are compared.
import random, re, math, itertools
class E(VerifiableEnvironment):
    prompt_template = 'x'
    def _generate(self, seed, difficulty):
        r = random.Random(seed)
        s = ''.join(r.choice('abcdefghij') for _ in range(9 + difficulty))
        return s, s[::-1]
    def _prompt_generate(self, z):
        return 'Reverse %s' % z
    def _process(self, y):
        return y.strip() or None
    def scorer(self, y, z, a):
        p = self._process(y)
        h = len(a) // 2
        return 1.0 if p is not None and len(p) == len(a) and p[h] == a[h] and p[-1] == a[-1] and p[0] == a[0] else 0.0
