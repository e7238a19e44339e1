# expect: sound
import random
from collections import deque


class Reachable(VerifiableEnvironment):
    """Yes or no, about seven to three."""

    prompt_template = (
        "A directed graph has the vertices 0 to {last} and these edges (from -> to):\n{edges}\n"
        "Is there a path from vertex {s} to vertex {t}? Answer yes or no."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = 5 + 2 * difficulty
        want = rng.random() < 0.7
        while True:
            edges = sorted({(rng.randrange(n), rng.randrange(n)) for _ in range(int(1.4 * n))})
            edges = [(u, v) for u, v in edges if u != v]
            s, t = rng.sample(range(n), 2)
            if self._path(n, edges, s, t) == want:
                break
        rng.shuffle(edges)
        return {"n": n, "edges": edges, "s": s, "t": t}, "yes" if want else "no"

    def _path(self, n, edges, s, t):
        out = [[] for _ in range(n)]
        for u, v in edges:
            out[u].append(v)
        seen, queue = {s}, deque([s])
        while queue:
            u = queue.popleft()
            for v in out[u]:
                if v not in seen:
                    seen.add(v)
                    queue.append(v)
        return t in seen

    def _prompt_generate(self, z):
        edges = "\n".join(f"{u} -> {v}" for u, v in z["edges"])
        return self.prompt_template.format(last=z["n"] - 1, edges=edges, s=z["s"], t=z["t"])

    def _process(self, y):
        word = y.strip().strip(".").lower()
        return word if word in ("yes", "no") else None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
