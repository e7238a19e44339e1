# expect: L5.score-range
# One minus the relative error: negative as soon as the error is larger than the answer.
import random


class WaterTank(VerifiableEnvironment):
    prompt_template = "A tank holds {v} litres; {inflow} litres flow in and {out} litres flow out per minute. How many litres are in it after {t} minutes?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        z = {"v": rng.randint(50, 200), "inflow": rng.randint(5, 20), "out": rng.randint(1, 5), "t": rng.randint(2, 5 + 2 * difficulty)}
        return z, z["v"] + (z["inflow"] - z["out"]) * z["t"]

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        try:
            return int(y.strip())
        except ValueError:
            return None

    def scorer(self, y, z, a):
        value = self._process(y)
        if value is None:
            return 0.0
        return 1.0 - abs(value - a) / a
