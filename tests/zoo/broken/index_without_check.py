# expect: L5.scorer-raises
# Positions named by the solver are used as indices without a look at the list's length.
import random


class HeaviestPair(VerifiableEnvironment):
    prompt_template = "Weights: {weights}. Give the positions (from 0) of two different weights whose sum is exactly {target}, separated by a space."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        weights = rng.sample(range(5, 99), 6 + difficulty)
        i, j = sorted(rng.sample(range(len(weights)), 2))
        return {"weights": weights, "target": weights[i] + weights[j]}, [i, j]

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        try:
            return [int(t) for t in y.split()] or None
        except ValueError:
            return None

    def scorer(self, y, z, a):
        places = self._process(y)
        if places is None or len(set(places)) != 2 or min(places) < 0:
            return 0.0
        return 1.0 if sum(z["weights"][p] for p in places) == z["target"] else 0.0
