# expect: L2.bad-result
# For a right answer the scorer falls off its end and returns None.
import random


class ShoppingBill(VerifiableEnvironment):
    prompt_template = "You buy {items}. How much do you pay in total?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        items = [(rng.randint(1, 9), rng.randint(2, 30)) for _ in range(2 + difficulty)]
        return {"items": items}, sum(n * p for n, p in items)

    def _prompt_generate(self, z):
        return self.prompt_template.format(items=", ".join(f"{n} pieces at {p}" for n, p in z["items"]))

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        parsed = self._process(y)
        if parsed is None or parsed != a:
            return 0.0
        correct = parsed == a
