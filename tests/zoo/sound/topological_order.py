# expect: sound
import random


class TopologicalOrder(VerifiableEnvironment):
    """Many orders are right; any of them is accepted."""

    prompt_template = (
        "There are {n} jobs, numbered 1 to {n}. Some must come before others:\n{rules}\n"
        "Write all jobs in an order that respects every rule, separated by spaces. Any such order is right."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = 5 + difficulty
        order = list(range(1, n + 1))
        rng.shuffle(order)
        rules = set()
        while len(rules) < 2 * n - 3:
            i, j = sorted(rng.sample(range(n), 2))
            rules.add((order[i], order[j]))
        rules = sorted(rules)
        rng.shuffle(rules)
        return {"n": n, "rules": rules}, order

    def _prompt_generate(self, z):
        return self.prompt_template.format(
            n=z["n"], rules="\n".join(f"job {u} before job {v}" for u, v in z["rules"])
        )

    def _process(self, y):
        try:
            return [int(t) for t in y.split()[:500]]
        except ValueError:
            return None

    def scorer(self, y, z, a):
        order = self._process(y)
        if order is None or sorted(order) != list(range(1, z["n"] + 1)):
            return 0.0
        place = {job: i for i, job in enumerate(order)}
        return float(all(place[u] < place[v] for u, v in z["rules"]))
