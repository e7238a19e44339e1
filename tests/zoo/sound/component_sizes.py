# expect: sound
import random
from collections import Counter


class UnionFind:
    def __init__(self, n):
        self.up = list(range(n))

    def root(self, v):
        while self.up[v] != v:
            v = self.up[v]
        return v

    def join(self, u, v):
        self.up[self.root(u)] = self.root(v)


class ComponentSizes(VerifiableEnvironment):
    prompt_template = (
        "A graph on the vertices 1 to {n} has the edges {edges}. "
        "Write the sizes of its connected components in decreasing order, separated by commas."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = 6 + 2 * difficulty
        edges = [tuple(rng.sample(range(1, n + 1), 2)) for _ in range(n // 2 + rng.randint(0, 2))]
        sets = UnionFind(n + 1)
        for u, v in edges:
            sets.join(u, v)
        sizes = Counter(sets.root(v) for v in range(1, n + 1))
        return {"n": n, "edges": edges}, sorted(sizes.values(), reverse=True)

    def _prompt_generate(self, z):
        return self.prompt_template.format(n=z["n"], edges=", ".join(f"{u}-{v}" for u, v in z["edges"]))

    def _process(self, y):
        try:
            return [int(t) for t in y.split(",")]
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
