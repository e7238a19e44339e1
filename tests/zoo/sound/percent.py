# expect: sound
import random, re, math, itertools
class E(VerifiableEnvironment):
    prompt_template = 'x'
    def _generate(self, seed, difficulty):
        r = random.Random(seed)
        a = r.randrange(1, 20 * (difficulty + 1)); b = r.randrange(a + 1, 30 * (difficulty + 2) + a)
        return [a, b], '%.1f%%' % (100 * a / b)
    def _prompt_generate(self, z):
        return '%d of %d people voted. What share is that, in percent with one decimal, like 12.5%%?' % tuple(z)
    def _process(self, y):
        m = re.fullmatch(r"([0-9]{1,3}\.[0-9])\s?%?", y.strip())
        return m[1] if m else None
    def scorer(self, y, z, a):
        p = self._process(y)
        return 1.0 if p is not None and p + "%" == a else 0.0
