import random


class VendingChange(VerifiableEnvironment):
    """Fewest coins for an amount."""

    prompt_template = (
        "A vending machine pays out with coins of {coins} cents and has plenty of each. "
        "What is the smallest number of coins that make exactly {amount} cents?"
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        coins = sorted({1} | set(rng.sample(range(3, 15 + 4 * difficulty), 3 + difficulty // 3)))
        amount = rng.randint(max(coins), 4 * max(coins) + 10 * difficulty)
        return {"coins": coins, "amount": amount}, self._fewest(coins, amount)

    def _fewest(self, coins, amount):
        fewest = [0] + [None] * amount
        for value in range(1, amount + 1):
            fewest[value] = 1 + min(fewest[value - coin] for coin in coins if coin <= value)
        return fewest[amount]

    def _prompt_generate(self, z):
        return self.prompt_template.format(coins=", ".join(map(str, z["coins"])), amount=z["amount"])

    def _process(self, y):
        try:
            return int(y.strip())
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
