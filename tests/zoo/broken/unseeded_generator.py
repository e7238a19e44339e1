# expect: L3.instance-unstable
# random.Random() without the seed.
import random


class SubwayLines(VerifiableEnvironment):
    prompt_template = "Line A stops every {a} minutes, line B every {b} minutes; both stop now. In how many minutes do they meet next?"

    def _generate(self, seed, difficulty):
        rng = random.Random()
        a, b = rng.randint(2, 15 + 5 * difficulty), rng.randint(2, 15 + 5 * difficulty)
        t = max(a, b)
        while t % a or t % b:
            t += 1
        return {"a": a, "b": b}, t

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
