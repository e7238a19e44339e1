# expect: L5.perturbed-accepted
# Answers are compared modulo 1000.
import random, re, math, itertools
class E(VerifiableEnvironment):
    prompt_template = 'x'
    def _generate(self, seed, difficulty):
        r = random.Random(seed)
        a, b = r.randrange(10 ** (difficulty + 3)), r.randrange(10 ** (difficulty + 3))
        return [a, b], a * b
    def _prompt_generate(self, z):
        return 'What is %d times %d?' % tuple(z)
    def _process(self, y):
        y = y.strip()
        return int(y) if re.fullmatch(r"-?[0-9]{1,30}", y) else None
    def scorer(self, y, z, a):
        p = self._process(y)
        return 1.0 if p is not None and (p - a) % 1000 == 0 else 0.0
