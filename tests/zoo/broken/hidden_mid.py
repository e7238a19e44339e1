# expect: L4.hidden-latent
# The threshold is drawn in the middle of many other numbers and never shown.
import random, re, math, itertools
class E(VerifiableEnvironment):
    prompt_template = 'x'
    def _generate(self, seed, difficulty):
        r = random.Random(seed)
        xs = [r.randrange(100) for _ in range(31)]
        t = r.randrange(20, 80)
        xs += [r.randrange(100) for _ in range(29 + difficulty * 4)]
        return {'xs': xs, 't': t}, sum(x for x in xs if x > t)
    def _prompt_generate(self, z):
        return 'Sum of the numbers above the threshold: ' + ' '.join(map(str, z['xs']))
    def _process(self, y):
        y = y.strip()
        return int(y) if re.fullmatch(r"-?[0-9]{1,30}", y) else None
    def scorer(self, y, z, a):
        p = self._process(y)
        return 1.0 if p is not None and p == a else 0.0
