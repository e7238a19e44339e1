import random
import re


class Knapsack(VerifiableEnvironment):
    """0/1 knapsack. Knobs: number of items, weights, values. Scorer: share of the best possible value."""

    prompt_template = (
        "There are {n} items, numbered from 0 to {last}:\n\n"
        "{items}\n\n"
        "Each item may be taken at most once. Choose items whose total weight is at most {capacity} and whose total "
        "value is as large as possible. Give the numbers of the chosen items, separated by spaces, in any order."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = 3 + 3 * difficulty // 2
        weights = [rng.randint(1, 5 + 2 * difficulty) for _ in range(n)]
        values = [rng.randint(1, 9 + 5 * difficulty) for _ in range(n)]
        # Every item fits alone, but never all of them together.
        capacity = rng.randint(max(weights), sum(weights) - 1)
        z = {"weights": weights, "values": values, "capacity": capacity}
        return z, self._best_choice(weights, values, capacity)

    def _best_choice(self, weights, values, capacity):
        """Dynamic programming: best[c] is (value, chosen items as a bit mask) within capacity c."""
        best = [(0, 0)] * (capacity + 1)
        for i, (weight, value) in enumerate(zip(weights, values)):
            for c in range(capacity, weight - 1, -1):
                rest, mask = best[c - weight]
                if rest + value > best[c][0]:
                    best[c] = rest + value, mask | 1 << i
        mask = best[capacity][1]
        return [i for i in range(len(weights)) if mask >> i & 1]

    def _prompt_generate(self, z):
        pairs = enumerate(zip(z["weights"], z["values"]))
        items = "\n".join(f"item {i}: weight {weight}, value {value}" for i, (weight, value) in pairs)
        n = len(z["weights"])
        return self.prompt_template.format(n=n, last=n - 1, items=items, capacity=z["capacity"])

    def _process(self, y):
        """The item numbers of the answer, or None if it holds anything but numbers."""
        if len(y) > 50_000:
            return None
        tokens = y.replace(",", " ").split()
        if not tokens or not all(re.fullmatch(r"[0-9]{1,6}", token) for token in tokens):
            return None
        return [int(token) for token in tokens]

    def scorer(self, y, z, a):
        """Value over best value; an unknown or repeated item, or too much weight, earns nothing."""
        chosen = self._process(y)
        weights, values = z["weights"], z["values"]
        if chosen is None or len(set(chosen)) < len(chosen) or max(chosen) >= len(weights):
            return 0.0
        if sum(weights[i] for i in chosen) > z["capacity"]:
            return 0.0
        return sum(values[i] for i in chosen) / sum(values[i] for i in a)
