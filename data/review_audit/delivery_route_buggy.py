import heapq
import random


class DeliveryRoute(VerifiableEnvironment):
    """Shortest delivery route in a small road network."""

    prompt_template = (
        "A town has {n} crossings numbered 0 to {last}. Two-way roads (crossing, crossing, minutes):\n{roads}\n"
        "What is the least number of minutes needed to drive from crossing {start} to crossing {goal}?"
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = 5 + difficulty
        order = list(range(n))
        rng.shuffle(order)
        roads = {}
        for i in range(1, n):
            u, v = order[rng.randrange(i)], order[i]
            roads[min(u, v), max(u, v)] = rng.randint(2, 25)
        for _ in range(n):
            u, v = rng.sample(range(n), 2)
            roads.setdefault((min(u, v), max(u, v)), rng.randint(2, 25))
        z = {"n": n, "roads": [[u, v, w] for (u, v), w in sorted(roads.items())], "start": order[0], "goal": order[-1]}
        return z, self._fastest(z)

    def _fastest(self, z):
        links = {u: [] for u in range(z["n"])}
        for u, v, w in z["roads"]:
            links[u].append((v, w))
            links[v].append((u, w))
        dist = {z["start"]: 0}
        heap = [(0, z["start"])]
        while heap:
            d, u = heapq.heappop(heap)
            if d > dist[u]:
                continue
            for v, w in links[u]:
                if v not in dist:
                    dist[v] = d + w
                    heapq.heappush(heap, (d + w, v))
        return dist[z["goal"]]

    def _prompt_generate(self, z):
        roads = "\n".join(f"({u}, {v}, {w})" for u, v, w in z["roads"])
        return self.prompt_template.format(
            n=z["n"], last=z["n"] - 1, roads=roads, start=z["start"], goal=z["goal"]
        )

    def _process(self, y):
        try:
            return int(y.strip())
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
