# expect: sound
import random, re, math, itertools
class E(VerifiableEnvironment):
    prompt_template = 'x'
    def _generate(self, seed, difficulty):
        r = random.Random(seed)
        n = 2 + difficulty
        rows = [(r.choice(['ann', 'bob', 'cyd', 'dee']), r.randrange(100)) for _ in range(n)]
        t = {}
        for k, v in rows: t[k] = t.get(k, 0) + v
        return rows, dict(sorted(t.items()))
    def _prompt_generate(self, z):
        return 'Sum per name, one line each, sorted by name, like | ann | 12 |\n' + '\n'.join('| %s | %d |' % tuple(x) for x in z)
    def _process(self, y):
        out = {}
        for line in y.strip().splitlines():
            m = re.fullmatch(r"\|?\s*([a-z]+)\s*[|:]\s*([0-9]{1,9})\s*\|?", line.strip())
            if not m or m[1] in out: return None
            out[m[1]] = int(m[2])
        return out or None
    def scorer(self, y, z, a):
        p = self._process(y)
        return 1.0 if p is not None and p == a else 0.0
