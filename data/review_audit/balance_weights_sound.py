import random
import re


class BalanceWeights(VerifiableEnvironment):
    """Choose weights for a given total."""

    prompt_template = (
        "You have the weights {weights} (grams), each of them once. Choose some that weigh exactly {target} grams "
        "together. Answer with the chosen weights, separated by spaces."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        weights = rng.sample(range(5, 60 + 20 * difficulty), 6 + difficulty)
        chosen = rng.sample(weights, 3 + difficulty // 2)
        return {"weights": weights, "target": sum(chosen)}, sorted(chosen)

    def _prompt_generate(self, z):
        return self.prompt_template.format(weights=", ".join(map(str, z["weights"])), target=z["target"])

    def _process(self, y):
        tokens = y.replace(",", " ").split()
        if not tokens or len(tokens) > 200 or not all(re.fullmatch(r"[0-9]{1,6}", token) for token in tokens):
            return None
        return [int(token) for token in tokens]

    def scorer(self, y, z, a):
        chosen = self._process(y)
        if chosen is None or len(set(chosen)) < len(chosen) or not set(chosen) <= set(z["weights"]):
            return 0.0
        return 1.0 if sum(chosen) == z["target"] else 0.0
