# expect: L5.perturbed-accepted
# Three decimals are asked for; anything within five per cent passes.
import random, re, math, itertools
class E(VerifiableEnvironment):
    prompt_template = 'x'
    def _generate(self, seed, difficulty):
        r = random.Random(seed)
        a, b = r.uniform(1, 10 ** (1 + difficulty)), r.uniform(1, 9)
        a, b = round(a, 2), round(b, 2)
        return [a, b], round(a / b, 3)
    def _prompt_generate(self, z):
        return 'Compute %s / %s to three decimals.' % tuple(z)
    def _process(self, y):
        try:
            v = float(y)
        except ValueError:
            return None
        return v if math.isfinite(v) else None
    def scorer(self, y, z, a):
        p = self._process(y)
        return 1.0 if p is not None and abs(p - a) <= 0.05 * abs(a) + 0.05 else 0.0
