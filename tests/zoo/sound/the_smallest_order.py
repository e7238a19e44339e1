# expect: sound
import random


class TheSmallestOrder(VerifiableEnvironment):
    prompt_template = (
        "Put the numbers 1 to {count} in an order in which these hold: {rules}. Give the lexicographically smallest "
        "such order, the numbers separated by spaces."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        count = 5 + min(difficulty, 10)
        hidden = list(range(1, count + 1))
        rng.shuffle(hidden)
        pairs = [sorted(rng.sample(range(count), 2)) for _ in range(count - 1)]
        rules = sorted({(hidden[i], hidden[j]) for i, j in pairs})
        return {"count": count, "rules": rules}, self.smallest(count, rules)

    def smallest(self, count, rules):
        left, order = set(range(1, count + 1)), []
        while left:
            order.append(min(n for n in left if all(a not in left for a, b in rules if b == n)))
            left.remove(order[-1])
        return order

    def _prompt_generate(self, z):
        rules = ", ".join(f"{a} before {b}" for a, b in z["rules"])
        return self.prompt_template.format(count=z["count"], rules=rules)

    def _process(self, y):
        parts = y.split()
        if any(not part.isascii() or not part.isdigit() or len(part) > 3 for part in parts):
            return None
        return [int(part) for part in parts]

    def scorer(self, y, z, a):
        order = self._process(y)
        if order is None or sorted(order) != list(range(1, z["count"] + 1)):
            return 0.0
        return 1.0 if order == self.smallest(z["count"], z["rules"]) else 0.0
