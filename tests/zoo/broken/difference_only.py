# expect: L5.perturbed-accepted
# Only the difference of the two numbers is compared.
import random, re, math, itertools
class E(VerifiableEnvironment):
    prompt_template = 'x'
    def _generate(self, seed, difficulty):
        r = random.Random(seed)
        xs = [r.randrange(100) for _ in range(3 + difficulty)]
        return xs, [max(xs), min(xs)]
    def _prompt_generate(self, z):
        return 'Give the largest and the smallest of: ' + ' '.join(map(str, z))
    def _process(self, y):
        y = y.strip()
        return [int(t) for t in y.split()] if re.fullmatch(r"-?[0-9]{1,9}( -?[0-9]{1,9})*", y) else None
    def scorer(self, y, z, a):
        p = self._process(y)
        return 1.0 if p is not None and len(p) == 2 and p[0] - p[1] == a[0] - a[1] else 0.0
