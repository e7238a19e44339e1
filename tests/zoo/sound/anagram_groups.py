# expect: sound
import random, re, math, itertools
class E(VerifiableEnvironment):
    prompt_template = 'x'
    def _generate(self, seed, difficulty):
        r = random.Random(seed)
        base = ['abc', 'abd', 'xyz', 'pqr', 'mno', 'stu', 'klm'][: 2 + difficulty]
        ws = []
        for b in base:
            for _ in range(r.randrange(1, 4)):
                t = list(b); r.shuffle(t); ws.append(''.join(t))
        ws = sorted(set(ws)); r.shuffle(ws)
        g = {}
        for w in ws: g.setdefault(''.join(sorted(w)), []).append(w)
        return ws, list(g.values())
    def _prompt_generate(self, z):
        return 'Group the anagrams: one group per line, words separated by spaces, any order.\n' + ' '.join(z)
    def _process(self, y):
        rows = [row.split() for row in y.strip().splitlines() if row.strip()]
        return sorted(sorted(row) for row in rows) if rows else None
    def scorer(self, y, z, a):
        p = self._process(y)
        return 1.0 if p is not None and p == sorted(sorted(g) for g in a) else 0.0
