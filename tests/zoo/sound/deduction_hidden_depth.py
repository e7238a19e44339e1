# expect: sound
import random, re, math, itertools
class E(VerifiableEnvironment):
    prompt_template = 'x'
    def _generate(self, seed, difficulty):
        r = random.Random(seed)
        n = 8
        p = list(range(n))
        for _ in range(1 + difficulty):
            i, j = r.sample(range(n), 2); p[i], p[j] = p[j], p[i]
        seen, c = set(), 0
        for i in range(n):
            if i not in seen:
                c += 1
                while i not in seen: seen.add(i); i = p[i]
        return p, n - c
    def _prompt_generate(self, z):
        return 'How many swaps at least sort %s?' % z
    def _process(self, y):
        y = y.strip()
        return int(y) if re.fullmatch(r"-?[0-9]{1,30}", y) else None
    def scorer(self, y, z, a):
        p = self._process(y)
        return 1.0 if p is not None and p == a else 0.0
