# expect: L3.prompt-unstable
# The renderer picks its wording from the global generator.
import random


class SpeedDistance(VerifiableEnvironment):
    prompt_templates = [
        "A car drives {v} km/h for {t} hours and then {w} km/h for {u} hours. How far does it get?",
        "Someone cycles {t} hours at {v} km/h and {u} hours at {w} km/h. What is the distance?",
        "Driving {t} hours at {v} km/h, then {u} hours at {w} km/h: how many kilometres?",
    ]

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        z = {k: rng.randint(2, 10 + 10 * difficulty) for k in "vtwu"}
        return z, z["v"] * z["t"] + z["w"] * z["u"]

    def _prompt_generate(self, z):
        return random.choice(self.prompt_templates).format(**z)

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
