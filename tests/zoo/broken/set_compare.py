# expect: L5.perturbed-accepted
# Answers are compared as sets although elements repeat.
import random, re, math, itertools
class E(VerifiableEnvironment):
    prompt_template = 'x'
    def _generate(self, seed, difficulty):
        r = random.Random(seed)
        xs = [r.randrange(1000) for _ in range(5 + difficulty)]
        return xs, [x % 7 for x in xs]
    def _prompt_generate(self, z):
        return 'Remainders modulo 7, in order, of: ' + ' '.join(map(str, z))
    def _process(self, y):
        y = y.strip()
        return [int(t) for t in y.split()] if re.fullmatch(r"-?[0-9]{1,9}( -?[0-9]{1,9})*", y) else None
    def scorer(self, y, z, a):
        p = self._process(y)
        return 1.0 if p is not None and set(p) == set(a) else 0.0
