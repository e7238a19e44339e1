# expect: L2.bad-result
# The renderer returns chat messages instead of text.
import random


class UnitConversion(VerifiableEnvironment):
    prompt_template = "How many seconds are {h} hours, {m} minutes and {s} seconds?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        z = {"h": rng.randint(1, 5 * (difficulty + 1)), "m": rng.randint(0, 59), "s": rng.randint(0, 59)}
        return z, z["h"] * 3600 + z["m"] * 60 + z["s"]

    def _prompt_generate(self, z):
        return [{"role": "user", "content": self.prompt_template.format(**z)}]

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
