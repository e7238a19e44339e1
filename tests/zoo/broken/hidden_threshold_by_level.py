# expect: L4.hidden-latent
# The threshold follows from the difficulty; the prompt only speaks of "the limit".
import random


class OverLimit(VerifiableEnvironment):
    prompt_template = "Parcels weigh {weights} kilos. What is the total weight of the parcels above the limit?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        weights = [rng.randint(1, 60) for _ in range(6 + difficulty)]
        limit = 20 + 2 * difficulty
        return {"weights": weights, "limit": limit}, sum(w for w in weights if w > limit)

    def _prompt_generate(self, z):
        return self.prompt_template.format(weights=z["weights"])

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
