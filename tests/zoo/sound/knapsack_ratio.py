# expect: sound
import random


class KnapsackRatio(VerifiableEnvironment):
    """Optimisation with partial credit (value reached over best value); any best packing scores 1."""

    prompt_template = (
        "Items (index: weight, value):\n{items}\nChoose items with total weight at most {capacity} so that the total "
        "value is as large as possible. Give the indices of the chosen items, separated by spaces."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = 4 + difficulty
        items = [(rng.randint(2, 12), rng.randint(3, 30)) for _ in range(n)]
        capacity = max(max(w for w, _ in items), sum(w for w, _ in items) // 2)
        best = {0: (0, ())}
        for i, (w, v) in enumerate(items):
            for weight, (value, chosen) in list(best.items()):
                new = weight + w
                if new <= capacity and (new not in best or best[new][0] < value + v):
                    best[new] = (value + v, chosen + (i,))
        value, chosen = max(best.values())
        return {"items": items, "capacity": capacity, "best": value}, list(chosen)

    def _prompt_generate(self, z):
        items = "\n".join(f"{i}: {w}, {v}" for i, (w, v) in enumerate(z["items"]))
        return self.prompt_template.format(items=items, capacity=z["capacity"])

    def _process(self, y):
        tokens = y.replace(",", " ").split()
        if not tokens or not all(t.isascii() and t.isdigit() and len(t) < 6 for t in tokens):
            return None
        return [int(t) for t in tokens]

    def scorer(self, y, z, a):
        chosen = self._process(y)
        if not chosen or len(set(chosen)) != len(chosen) or max(chosen) >= len(z["items"]):
            return 0.0
        if sum(z["items"][i][0] for i in chosen) > z["capacity"]:
            return 0.0
        return sum(z["items"][i][1] for i in chosen) / z["best"]
