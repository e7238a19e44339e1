# expect: L3.hidden-state
# The object remembers what it generated and avoids repeating it.
import random


class ChairCircle(VerifiableEnvironment):
    prompt_template = "{n} chairs stand in a circle, {k} people sit down so that no two are neighbours. In how many ways can the seats be chosen?"

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.history = []

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        pair = (rng.randint(6, 14 + difficulty), rng.randint(2, 3))
        while pair in self.history:
            pair = (rng.randint(6, 6000 + difficulty), rng.randint(2, 3))
        self.history.append(pair)
        n, k = pair
        ways = 1
        for i in range(k - 1):
            ways = ways * (n - k - 1 - i)
        return {"n": n, "k": k}, n * ways // (1 if k == 1 else k if k == 2 else 6)

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
