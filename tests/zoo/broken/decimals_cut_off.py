# expect: L5.perturbed-accepted
# int(float(y)): 17.93 passes for 17.
import random


class WholeBuses(VerifiableEnvironment):
    prompt_template = "{people} people travel in buses of {seats} seats. How many buses are completely full?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        people, seats = rng.randint(200, 1000 * (difficulty + 1)), rng.randint(20, 60)
        return {"people": people, "seats": seats}, people // seats

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        try:
            return int(float(y.strip()))
        except (ValueError, OverflowError):
            return None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
