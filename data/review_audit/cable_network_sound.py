import random
import re


class CableNetwork(VerifiableEnvironment):
    """Cheapest way to wire up all buildings."""

    prompt_template = (
        "A campus has {n} buildings, numbered 0 to {last}. Cables could be laid along these trenches; each entry is "
        "building-building: price.\n{trenches}\nUsing the trenches, every building can be reached from every other. "
        "What is the lowest total price of a set of cables that connects all buildings?"
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = 5 + difficulty
        trenches = [[rng.randrange(v), v, rng.randint(3, 40)] for v in range(1, n)]
        known = {(u, v) for u, v, _ in trenches}
        extra = []
        for _ in range(2 * n):
            u, v = sorted(rng.sample(range(n), 2))
            if (u, v) not in known:
                known.add((u, v))
                extra.append([u, v, rng.randint(3, 40)])
        # Not every trench can be dug.
        extra = [trench for trench in extra if rng.random() > 0.3]
        trenches += extra
        rng.shuffle(trenches)
        return {"n": n, "trenches": trenches}, self._cheapest(n, trenches)

    def _cheapest(self, n, trenches):
        parent = list(range(n))

        def find(v):
            while parent[v] != v:
                parent[v] = parent[parent[v]]
                v = parent[v]
            return v

        total = 0
        for u, v, w in sorted(trenches, key=lambda trench: trench[2]):
            a, b = find(u), find(v)
            if a != b:
                parent[a] = b
                total += w
        return total

    def _prompt_generate(self, z):
        listing = ", ".join(f"{u}-{v}: {w}" for u, v, w in z["trenches"])
        return self.prompt_template.format(n=z["n"], last=z["n"] - 1, trenches=listing)

    def _process(self, y):
        match = re.fullmatch(r"\s*(-?\d{1,30})\s*", y)
        if match is None:
            return None
        return int(match.group(1))

    def scorer(self, y, z, a):
        value = self._process(y)
        if value is None:
            return 0.0
        return float(value == a)
