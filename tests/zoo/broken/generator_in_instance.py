# expect: L2.not-serialisable
# The random generator itself travels inside the instance.
import random


class HiddenDice(VerifiableEnvironment):
    prompt_template = "Dice were rolled: {rolls}. How many pairs of equal neighbours are there?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        rolls = [rng.randint(1, 3) for _ in range(6 + difficulty)]
        return {"rolls": rolls, "rng": rng}, sum(a == b for a, b in zip(rolls, rolls[1:]))

    def _prompt_generate(self, z):
        return self.prompt_template.format(rolls=z["rolls"])

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
