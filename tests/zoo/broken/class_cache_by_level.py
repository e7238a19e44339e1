# expect: L3.hidden-state
# The price list is cached per level: it belongs to whichever seed came first in the process.
import random


class PriceList(VerifiableEnvironment):
    prompt_template = "Prices: {prices}. What do {order} cost together?"
    cache = {}

    def _prices(self, rng, difficulty):
        if difficulty not in self.cache:
            names = ["tea", "bun", "pie", "jam", "fig", "nut", "egg", "ham", "oil", "rye", "soy", "yam", "cod", "fat"]
            self.cache[difficulty] = {name: rng.randint(1, 50) for name in names[: 4 + difficulty]}
        return self.cache[difficulty]

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        prices = self._prices(random.Random(seed + 1), difficulty)
        order = [(rng.randint(2, 9), rng.choice(sorted(prices))) for _ in range(2 + difficulty // 2)]
        return {"prices": dict(prices), "order": order}, sum(n * prices[item] for n, item in order)

    def _prompt_generate(self, z):
        prices = ", ".join(f"{name} {price}" for name, price in z["prices"].items())
        return self.prompt_template.format(prices=prices, order=", ".join(f"{n} {item}" for n, item in z["order"]))

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
