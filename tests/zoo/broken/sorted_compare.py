# expect: L5.perturbed-accepted
# Prefix sums are asked for in order; both sides are sorted before they are compared.
import random, re, math, itertools
class E(VerifiableEnvironment):
    prompt_template = 'x'
    def _generate(self, seed, difficulty):
        r = random.Random(seed)
        xs = [r.randrange(-20, 20) for _ in range(4 + difficulty)]
        return xs, list(itertools.accumulate(xs))
    def _prompt_generate(self, z):
        return 'Prefix sums, in order, of: ' + ' '.join(map(str, z))
    def _process(self, y):
        y = y.strip()
        return [int(t) for t in y.split()] if re.fullmatch(r"-?[0-9]{1,9}( -?[0-9]{1,9})*", y) else None
    def scorer(self, y, z, a):
        p = self._process(y)
        return 1.0 if p is not None and sorted(p) == sorted(a) else 0.0
