# expect: sound
import random
import re


class DSU:
    def __init__(self, n):
        self.parent = list(range(n))

    def find(self, x):
        while self.parent[x] != x:
            self.parent[x] = self.parent[self.parent[x]]
            x = self.parent[x]
        return x

    def union(self, x, y):
        x, y = self.find(x), self.find(y)
        if x == y:
            return False
        self.parent[x] = y
        return True


class MinimumSpanningTree(VerifiableEnvironment):
    """All weights differ, so the tree is unique; edges as u-v in any order."""

    prompt_template = (
        "A connected weighted graph on the vertices 0 to {last} has these edges:\n{edges}\n"
        "All weights are different. List the edges of its minimum spanning tree as u-v with u < v, separated by spaces."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = 4 + difficulty
        pairs = {(rng.randrange(v), v) for v in range(1, n)}
        while len(pairs) < min(n * (n - 1) // 2, 2 * n - 2):
            u, v = sorted(rng.sample(range(n), 2))
            pairs.add((u, v))
        pairs = sorted(pairs)
        weights = rng.sample(range(1, 10 * len(pairs)), len(pairs))
        edges = [(u, v, w) for (u, v), w in zip(pairs, weights)]
        rng.shuffle(edges)
        dsu = DSU(n)
        tree = sorted((u, v) for u, v, w in sorted(edges, key=lambda e: e[2]) if dsu.union(u, v))
        return {"n": n, "edges": edges}, tree

    def _prompt_generate(self, z):
        edges = "\n".join(f"{u}-{v} with weight {w}" for u, v, w in z["edges"])
        return self.prompt_template.format(last=z["n"] - 1, edges=edges)

    def _process(self, y):
        tokens = y.replace(",", " ").split()
        if not tokens or len(tokens) > 1000 or not all(re.fullmatch(r"\d{1,4}-\d{1,4}", t) for t in tokens):
            return None
        return [tuple(sorted(map(int, t.split("-")))) for t in tokens]

    def scorer(self, y, z, a):
        named = self._process(y)
        if named is None or len(named) != len(a):
            return 0.0
        return float(sorted(named) == [tuple(e) for e in a])
