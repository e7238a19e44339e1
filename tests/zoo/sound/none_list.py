# expect: sound
import random, re, math, itertools
class E(VerifiableEnvironment):
    prompt_template = 'x'
    def _generate(self, seed, difficulty):
        r = random.Random(seed)
        a = r.randrange(10, 50 * (difficulty + 1))
        b = a + r.randrange(3, 8 + difficulty)
        return [a, b], [n for n in range(a, b + 1) if n > 1 and all(n % k for k in range(2, n))]
    def _prompt_generate(self, z):
        return 'List all primes from %d to %d, separated by spaces, in order. Write NONE if there is none.' % tuple(z)
    def _process(self, y):
        y = y.strip()
        if y.upper() == "NONE":
            return []
        return [int(t) for t in y.split()] if re.fullmatch(r"[0-9]{1,9}( [0-9]{1,9})*", y) else None
    def scorer(self, y, z, a):
        p = self._process(y)
        return 1.0 if p is not None and p == a else 0.0
