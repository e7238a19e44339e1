# expect: sound
import random


class FewestCoins(VerifiableEnvironment):
    prompt_template = (
        "Coins of the values {coins} exist, as many as you like of each. What is the smallest number of coins that "
        "add up to exactly {target}? Answer with the number, or IMPOSSIBLE if it cannot be done."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        step = rng.choice((1, 2, 3))
        coins = sorted(step * c for c in rng.sample(range(2, 12 + difficulty), 3))
        target = rng.randint(15, 40 + 15 * difficulty)
        best = [0] + [None] * target
        for amount in range(1, target + 1):
            options = [best[amount - c] for c in coins if c <= amount and best[amount - c] is not None]
            best[amount] = 1 + min(options) if options else None
        answer = "IMPOSSIBLE" if best[target] is None else str(best[target])
        return {"coins": coins, "target": target}, answer

    def _prompt_generate(self, z):
        return self.prompt_template.format(coins=", ".join(map(str, z["coins"])), target=z["target"])

    def _process(self, y):
        text = y.strip().upper()
        if text == "IMPOSSIBLE":
            return text
        return str(int(text)) if text.isascii() and text.isdigit() and len(text) < 10 else None

    def scorer(self, y, z, a):
        parsed = self._process(y)
        return 1.0 if parsed is not None and parsed == a else 0.0
