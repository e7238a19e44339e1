# expect: sound
import random, re, math, itertools
class E(VerifiableEnvironment):
    prompt_template = 'x'
    def _generate(self, seed, difficulty):
        r = random.Random(seed)
        n = 3 + difficulty
        xs = sorted(r.sample(range(10 * n), n))
        k = r.randrange(n - 1)
        return {'xs': xs, 'lo': xs[0], 'hi': xs[-1]}, next(v for v in range(xs[0] + 1, xs[-1] + 9999) if v not in xs and v % 7 == xs[0] % 7)
    def _prompt_generate(self, z):
        return 'Give a whole number greater than %d that is not in %s and leaves the same remainder as %d when divided by 7, as small as possible.' % (z['lo'], z['xs'], z['lo'])
    def _process(self, y):
        y = y.strip()
        return int(y) if re.fullmatch(r"-?[0-9]{1,30}", y) else None
    def scorer(self, y, z, a):
        p = self._process(y)
        return 1.0 if p is not None and p == a else 0.0
