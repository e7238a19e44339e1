# expect: sound
import random, re, math, itertools
class E(VerifiableEnvironment):
    prompt_template = 'x'
    def _generate(self, seed, difficulty):
        r = random.Random(seed)
        a, b = r.randrange(1440), r.randrange(1, 30 + 200 * difficulty)
        t = (a + b) % 1440
        return [a, b], (t // 60, t % 60)
    def _prompt_generate(self, z):
        return 'It is %02d:%02d. What time is it %d minutes later? Answer as HH:MM.' % (z[0] // 60, z[0] % 60, z[1])
    def _process(self, y):
        m = re.fullmatch(r"([0-9]{1,2}):([0-9]{2})", y.strip())
        return (int(m[1]), int(m[2])) if m else None
    def scorer(self, y, z, a):
        p = self._process(y)
        return 1.0 if p is not None and p == a else 0.0
