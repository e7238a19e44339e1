# expect: L5.shortcut
# The answer is simply the sum of all numbers shown.
import random


class PiggyBank(VerifiableEnvironment):
    prompt_template = "A piggy bank gets {coins} cents. How many cents are in it?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        coins = [rng.choice((1, 2, 5, 10, 20, 50)) for _ in range(4 + 2 * difficulty)]
        return {"coins": coins}, sum(coins)

    def _prompt_generate(self, z):
        return self.prompt_template.format(coins=", ".join(map(str, z["coins"])))

    def _process(self, y):
        try:
            return int(y.strip())
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
