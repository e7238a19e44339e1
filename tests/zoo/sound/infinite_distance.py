# expect: sound
import heapq
import random


class CheapestRoute(VerifiableEnvironment):
    """Unreachable targets have the distance inf."""

    prompt_template = "Directed roads (from, to, cost): {roads}. What is the lowest total cost from {s} to {t}? Answer with a number, or inf if there is no route."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = 5 + difficulty
        roads = []
        for _ in range(2 * n):
            u, v = rng.sample(range(n), 2)
            roads.append((u, v, rng.randint(1, 9)))
        s, t = rng.sample(range(n), 2)
        best, heap = {}, [(0, s)]
        while heap:
            d, u = heapq.heappop(heap)
            if u in best:
                continue
            best[u] = d
            for x, v, c in roads:
                if x == u:
                    heapq.heappush(heap, (d + c, v))
        return {"roads": roads, "s": s, "t": t}, str(best[t]) if t in best else "inf"

    def _prompt_generate(self, z):
        roads = ", ".join(f"({u}, {v}, {c})" for u, v, c in z["roads"])
        return self.prompt_template.format(roads=roads, s=z["s"], t=z["t"])

    def _process(self, y):
        text = y.strip().lower()
        if text in ("inf", "infinity"):
            return "inf"
        return str(int(text)) if text.isascii() and text.isdigit() and len(text) < 9 else None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
