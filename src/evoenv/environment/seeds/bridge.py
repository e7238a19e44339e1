import random
import re


class Bridge(VerifiableEnvironment):
    """Find the bridges of a graph. Knobs: size, components, density. Scorer: share found, less false alarms."""

    prompt_template = (
        "An undirected graph has {n} vertices, numbered from 0 to {last}, and these {m} edges:\n\n"
        "{edges}\n\n"
        "The graph need not be connected. A bridge is an edge whose removal leaves no path between its two endpoints. "
        "Find every bridge; there is at least one. Give each bridge as u-v with u < v, "
        "and separate the bridges by spaces, in any order."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        components = [[] for _ in range(1 + difficulty // 4)]
        parts = len(components) + 1 + rng.randint(difficulty // 2, difficulty)
        n, edges = 0, []
        for part in range(parts):  # each component is a ring, then in turn single vertices and rings hung onto it
            turn, component = part // len(components), components[part % len(components)]
            size = 1 if turn % 2 else rng.randint(3, 4 + difficulty // 4)
            if component:
                edges.append((rng.choice(component), n + rng.randrange(size)))
            if size > 1:
                edges += [(n + i, n + (i + 1) % size) for i in range(size)]
                edges += [(n, n + i) for i in rng.sample(range(2, size - 1), rng.randint(0, size - 3))]
            component += range(n, n + size)
            n += size
        names = rng.sample(range(n), n)
        edges = [sorted((names[u], names[v])) for u, v in edges]
        rng.shuffle(edges)
        return {"n": n, "edges": edges}, [f"{u}-{v}" for u, v in sorted(self._bridges(n, edges))]

    def _bridges(self, n, edges):
        """Depth-first search: a tree edge is a bridge if no edge leads from below it back to above it."""
        neighbours = [[] for _ in range(n)]
        for u, v in edges:
            neighbours[u].append(v)
            neighbours[v].append(u)
        order, parent = {}, {}
        stack = [(root, None) for root in range(n)]
        while stack:
            v, above = stack.pop()
            if v not in order:
                order[v], parent[v] = len(order), above
                stack += [(w, v) for w in neighbours[v] if w not in order]
        low = dict(order)  # the earliest vertex that each subtree reaches without its edge to the parent
        for v in reversed(order):
            low[v] = min([low[v]] + [low[w] if parent[w] == v else order[w] for w in neighbours[v] if w != parent[v]])
        return [sorted((v, above)) for v, above in parent.items() if above is not None and low[v] == order[v]]

    def _prompt_generate(self, z):
        edges = ", ".join(f"({u}, {v})" for u, v in z["edges"])
        return self.prompt_template.format(n=z["n"], last=z["n"] - 1, m=len(z["edges"]), edges=edges)

    def _process(self, y):
        """The edges of the answer as u-v with u < v, or None if it holds anything else."""
        if len(y) > 50_000:
            return None
        tokens = y.replace(",", " ").split()
        if not tokens or not all(re.fullmatch(r"[0-9]{1,6}-[0-9]{1,6}", token) for token in tokens):
            return None
        return ["{}-{}".format(*sorted(map(int, token.split("-")))) for token in tokens]

    def scorer(self, y, z, a):
        """Bridges found less other edges named, over all bridges; a repeated or unknown edge earns nothing."""
        named = self._process(y)
        known = {f"{u}-{v}" for u, v in z["edges"]}
        if named is None or len(set(named)) < len(named) or not known.issuperset(named):
            return 0.0
        found = len(set(named) & set(a))
        return max(0, 2 * found - len(named)) / len(a)
