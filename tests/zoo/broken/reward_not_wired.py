# expect: L5.reference-rejected
# The comparison result is computed and thrown away: the score is always 0.
import random


class StockDays(VerifiableEnvironment):
    prompt_template = "Prices of a stock, day by day: {prices}. What is the largest profit from buying on one day and selling later?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        prices = [rng.randint(10, 99) for _ in range(6 + difficulty)]
        best = max(0, max(prices[j] - prices[i] for j in range(len(prices)) for i in range(j)))  if len(prices) > 1 else 0
        return {"prices": prices}, best

    def _prompt_generate(self, z):
        return self.prompt_template.format(prices=z["prices"])

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        score = 0.0
        value = self._process(y)
        if value is None:
            return score
        correct = value == a
        return score
