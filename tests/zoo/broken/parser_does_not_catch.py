# expect: L5.scorer-raises
# int() of whatever the solver writes, without a net.
import random


class Marathon(VerifiableEnvironment):
    prompt_template = "A runner needs {s} seconds per kilometre for the first {k} kilometres and {t} seconds for each of the other {m}. How many seconds in total?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        z = {"s": rng.randint(200, 300), "k": rng.randint(3, 9 + difficulty), "t": rng.randint(300, 400), "m": rng.randint(2, 9)}
        return z, z["s"] * z["k"] + z["t"] * z["m"]

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        return int(y.strip())

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
