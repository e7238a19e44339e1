# expect: L5.reference-beaten
# A greedy oracle: better items score more than 1.
import random


class GreedyScoresAboveOne(VerifiableEnvironment):
    prompt_template = (
        "A bag carries {limit} kg. The items weigh {weights} kg and are worth {values} in the same order. Choose items "
        "whose weight together is at most {limit} kg, of the highest total value. Give the numbers of the chosen items "
        "(the first is 1), separated by spaces."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        count = 6 + min(difficulty, 4)
        weights = [rng.randint(2, 12) for _ in range(count)]
        values = [4 * weight + rng.randint(0, 9) for weight in weights]
        z = {"limit": sum(weights) // 2, "weights": weights, "values": values}
        best, weight = [], 0
        for i in sorted(range(1, count + 1), key=lambda i: -values[i - 1]):
            if weight + weights[i - 1] <= z["limit"]:
                best.append(i)
                weight += weights[i - 1]
        best.sort()
        z["best"] = sum(values[i - 1] for i in best)
        return z, best

    def _prompt_generate(self, z):
        weights, values = (", ".join(map(str, z[name])) for name in ("weights", "values"))
        return self.prompt_template.format(limit=z["limit"], weights=weights, values=values)

    def _process(self, y):
        parts = y.split()
        if not parts or any(not part.isascii() or not part.isdigit() or len(part) > 3 for part in parts):
            return None
        return [int(part) for part in parts]

    def scorer(self, y, z, a):
        chosen = self._process(y)
        if chosen is None or len(set(chosen)) != len(chosen):
            return 0.0
        if any(not 1 <= i <= len(z["weights"]) for i in chosen):
            return 0.0
        if sum(z["weights"][i - 1] for i in chosen) > z["limit"]:
            return 0.0
        value = sum(z["values"][i - 1] for i in chosen)
        return (value / z["best"]) ** 3
