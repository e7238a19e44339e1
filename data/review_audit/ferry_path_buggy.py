import random
import re


class FerryPath(VerifiableEnvironment):
    """A shortest ferry connection."""

    prompt_template = (
        "Ferries connect these islands (both ways): {ferries}.\nGive a connection from island {start} to island {goal} "
        "with as few ferries as possible: the islands in order, start and goal included, separated by spaces."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = 6 + 2 * difficulty
        ferries = {(rng.randrange(max(0, v - 3), v), v) for v in range(1, n)}
        while len(ferries) < n + 1 + difficulty:
            ferries.add(tuple(sorted(rng.sample(range(n), 2))))
        names = rng.sample(range(10, 100), n)
        ferries = [[names[u], names[v]] for u, v in sorted(ferries)]
        rng.shuffle(ferries)
        z = {"ferries": ferries, "start": names[0], "goal": names[n - 1]}
        return z, self._route(z)

    def _route(self, z):
        neighbours = {}
        for u, v in z["ferries"]:
            neighbours.setdefault(u, []).append(v)
            neighbours.setdefault(v, []).append(u)
        before = {z["start"]: None}
        queue = [z["start"]]
        for u in queue:
            for v in neighbours[u]:
                if v not in before:
                    before[v] = u
                    queue.append(v)
        route = [z["goal"]]
        while before[route[-1]] is not None:
            route.append(before[route[-1]])
        return route[::-1]

    def _prompt_generate(self, z):
        ferries = ", ".join(f"{u}-{v}" for u, v in z["ferries"])
        return self.prompt_template.format(ferries=ferries, start=z["start"], goal=z["goal"])

    def _process(self, y):
        tokens = y.split()
        if not tokens or len(tokens) > 500 or not all(re.fullmatch(r"[0-9]{1,4}", token) for token in tokens):
            return None
        return [int(token) for token in tokens]

    def scorer(self, y, z, a):
        route = self._process(y)
        if route is None:
            return 0.0
        return 1.0 if route == list(a) else 0.0
