# expect: sound
import random, re, math, itertools
class E(VerifiableEnvironment):
    prompt_template = 'x'
    def _generate(self, seed, difficulty):
        r = random.Random(seed)
        n = 20
        s = ''.join(r.choice('01') for _ in range(n))
        k = 1 + difficulty
        t = s
        for _ in range(k):
            t = t[1:] + str(int(t[0]) ^ int(t[3]))
        return {'s': s, 'k': k}, t
    def _prompt_generate(self, z):
        return 'A shift register holds %s. Step: drop the first bit and append (first xor fourth). After %d steps?' % (z['s'], z['k'])
    def _process(self, y):
        return y.strip() or None
    def scorer(self, y, z, a):
        p = self._process(y)
        return 1.0 if p is not None and p == a else 0.0
