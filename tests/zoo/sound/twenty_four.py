# expect: sound
import random, re, math, itertools
class E(VerifiableEnvironment):
    prompt_template = 'x'
    def _generate(self, seed, difficulty):
        r = random.Random(seed)
        n = 3 + min(difficulty, 3)
        nums = [r.randrange(1, 10) for _ in range(n)]
        e = str(nums[0]); v = nums[0]
        for k in nums[1:]:
            op = r.choice('+-*')
            e = '(%s%s%d)' % (e, op, k)
            v = v + k if op == '+' else v - k if op == '-' else v * k
        shown = sorted(nums)
        return {'nums': shown, 'target': v}, e
    def _prompt_generate(self, z):
        return 'Use each of the numbers %s exactly once, with + - * and parentheses, to make %d.' % (z['nums'], z['target'])
    def _process(self, y):
        y = y.replace(" ", "")
        if not y or len(y) > 200 or not re.fullmatch(r"[0-9+*()-]+", y):
            return None
        return y
    def value(self, t):
        pos = [0]
        used = []
        def atom(d):
            if d > 40: raise ValueError
            if pos[0] < len(t) and t[pos[0]] == "(":
                pos[0] += 1
                v = expr(d + 1)
                if pos[0] >= len(t) or t[pos[0]] != ")": raise ValueError
                pos[0] += 1
                return v
            s = pos[0]
            while pos[0] < len(t) and t[pos[0]].isdigit(): pos[0] += 1
            if s == pos[0] or pos[0] - s > 4: raise ValueError
            used.append(int(t[s:pos[0]]))
            return used[-1]
        def term(d):
            v = atom(d)
            while pos[0] < len(t) and t[pos[0]] == "*":
                pos[0] += 1
                v *= atom(d)
            return v
        def expr(d):
            v = term(d)
            while pos[0] < len(t) and t[pos[0]] in "+-":
                o = t[pos[0]]; pos[0] += 1
                w = term(d)
                v = v + w if o == "+" else v - w
            return v
        v = expr(0)
        if pos[0] != len(t): raise ValueError
        return v, sorted(used)
    def scorer(self, y, z, a):
        p = self._process(y)
        if p is None: return 0.0
        try:
            v, used = self.value(p)
        except (ValueError, RecursionError):
            return 0.0
        return 1.0 if v == z["target"] and used == z["nums"] else 0.0
