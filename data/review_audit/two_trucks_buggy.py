import random


class TwoTrucks(VerifiableEnvironment):
    """Share parcels between two trucks."""

    prompt_template = (
        "Parcels of {weights} kg are shared between two trucks. The heavier load should be as light as possible. "
        "How many kilograms is the heavier load then?"
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        weights = [rng.randint(3, 20 + 5 * difficulty) for _ in range(5 + difficulty)]
        return {"weights": weights}, self._heavier(weights)

    def _heavier(self, weights):
        loads = [0, 0]
        for weight in sorted(weights, reverse=True):
            loads[loads.index(min(loads))] += weight
        return max(loads)

    def _prompt_generate(self, z):
        return self.prompt_template.format(weights=", ".join(map(str, z["weights"])))

    def _process(self, y):
        try:
            return int(y.strip())
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
