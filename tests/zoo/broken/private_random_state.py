# expect: L1.private-access
# Reseeds the module's private generator instead of making one of its own.
import random


class DiceTotal(VerifiableEnvironment):
    prompt_template = "The dice show {dice}. What is the total of the dice that show more than {k}?"

    def _generate(self, seed, difficulty):
        rng = random._inst
        rng.seed(seed)
        dice = [rng.randint(1, 6) for _ in range(5 + difficulty)]
        k = rng.randint(1, 4)
        return {"dice": dice, "k": k}, sum(d for d in dice if d > k)

    def _prompt_generate(self, z):
        return self.prompt_template.format(dice=z["dice"], k=z["k"])

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
