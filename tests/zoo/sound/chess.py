# expect: sound
import random, re, math, itertools
class E(VerifiableEnvironment):
    prompt_template = 'x'
    def _generate(self, seed, difficulty):
        r = random.Random(seed)
        x, y = r.randrange(8), r.randrange(8)
        n = 1 + difficulty
        path = [(x, y)]
        for _ in range(n):
            x, y = r.choice([(x + a, y + b) for a, b in ((1,2),(2,1),(-1,2),(-2,1),(1,-2),(2,-1),(-1,-2),(-2,-1)) if 0 <= x + a < 8 and 0 <= y + b < 8])
            path.append((x, y))
        sq = lambda p: 'abcdefgh'[p[0]] + str(p[1] + 1)
        return {'from': sq(path[0]), 'to': sq(path[-1]), 'n': n}, '-'.join(map(sq, path))
    def _prompt_generate(self, z):
        return 'Move a knight from %s to %s in exactly %d moves. Write all squares, like a1-b3-d4.' % (z['from'], z['to'], z['n'])
    def _process(self, y):
        t = y.strip().lower().split("-")
        return t if len(t) < 60 and all(re.fullmatch("[a-h][1-8]", s) for s in t) else None
    def scorer(self, y, z, a):
        p = self._process(y)
        if p is None or len(p) != z["n"] + 1 or p[0] != z["from"] or p[-1] != z["to"]: return 0.0
        for s, t in zip(p, p[1:]):
            if sorted((abs(ord(s[0]) - ord(t[0])), abs(int(s[1]) - int(t[1])))) != [1, 2]: return 0.0
        return 1.0
