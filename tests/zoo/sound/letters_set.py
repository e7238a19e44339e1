# expect: sound
import random, re, math, itertools
class E(VerifiableEnvironment):
    prompt_template = 'x'
    def _generate(self, seed, difficulty):
        r = random.Random(seed)
        n = 4
        items = [(r.randrange(10 ** (difficulty + 1)), r.randrange(10 ** (difficulty + 1))) for _ in range(n)]
        shown = [(x, y, x + y + r.choice([0, 0, 0, 1])) for x, y in items]
        a = ['ABCD'[i] for i, (x, y, s) in enumerate(shown) if x + y == s]
        if not a:
            shown[0] = (items[0][0], items[0][1], sum(items[0])); a = ['A']
        return shown, a
    def _prompt_generate(self, z):
        return 'Which of these sums are right? Give the letters, separated by spaces.\n' + '\n'.join('%s) %d + %d = %d' % ('ABCD'[i], *t) for i, t in enumerate(z))
    def _process(self, y):
        t = y.strip().upper().split()
        return sorted(set(t)) if t and all(x in "ABCD" and len(x) == 1 for x in t) else None
    def scorer(self, y, z, a):
        p = self._process(y)
        return 1.0 if p is not None and p == a else 0.0
