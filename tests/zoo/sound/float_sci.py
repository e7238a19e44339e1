# expect: sound
import random, re, math, itertools
class E(VerifiableEnvironment):
    prompt_template = 'x'
    def _generate(self, seed, difficulty):
        r = random.Random(seed)
        a = r.uniform(1, 9.99); k = r.randrange(-3 - difficulty, 4 + difficulty)
        b = r.uniform(1, 9.99)
        return ['%.3fe%d' % (a, k), '%.3f' % b], float('%.3fe%d' % (a, k)) * float('%.3f' % b)
    def _prompt_generate(self, z):
        return 'Compute %s times %s; relative error at most 1e-6.' % tuple(z)
    def _process(self, y):
        try:
            v = float(y)
        except ValueError:
            return None
        return v if math.isfinite(v) else None
    def scorer(self, y, z, a):
        p = self._process(y)
        return 1.0 if p is not None and abs(p - a) <= 1e-6 * abs(a) else 0.0
