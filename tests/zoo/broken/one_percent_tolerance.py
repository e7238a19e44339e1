# expect: L5.perturbed-accepted
# A relative tolerance of one percent accepts neighbours of every larger answer.
import random


class Population(VerifiableEnvironment):
    prompt_template = "A town of {p} people grows by {k} people in each of the first {n} years and then loses {m} people. How many people live there?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        z = {"p": rng.randint(500, 5000), "k": rng.randint(10, 99), "n": rng.randint(2, 5 + difficulty), "m": rng.randint(5, 300)}
        return z, z["p"] + z["k"] * z["n"] - z["m"]

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        try:
            return float(y.strip())
        except ValueError:
            return None

    def scorer(self, y, z, a):
        value = self._process(y)
        if value is None or value != value:
            return 0.0
        return 1.0 if abs(value - a) / max(1, abs(a)) < 0.01 else 0.0
