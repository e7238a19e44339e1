# expect: sound
import random
import re


class TreePath(VerifiableEnvironment):
    """Edges written as (u, v), in order."""

    prompt_template = (
        "In the tree with the edges {edges}, walk from vertex {s} to vertex {t} by the only path.\n"
        "List the edges in the order of the walk, each in the direction of travel, like (3, 1), (1, 0)."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = 6 + 2 * difficulty
        parent = [None] + [rng.randint(max(0, v - 3), v - 1) for v in range(1, n)]
        names = list(range(n))
        rng.shuffle(names)
        edges = [(names[v], names[parent[v]]) for v in range(1, n)]
        rng.shuffle(edges)
        s, t = rng.sample(range(n), 2)

        def up(v):
            chain = [v]
            while parent[chain[-1]] is not None:
                chain.append(parent[chain[-1]])
            return chain

        left, right = up(s), up(t)
        while len(left) > 1 and len(right) > 1 and left[-2] == right[-2]:
            left.pop()
            right.pop()
        walk = [names[v] for v in left + right[-2::-1]]
        z = {"edges": edges, "s": names[s], "t": names[t]}
        return z, list(zip(walk, walk[1:]))

    def _prompt_generate(self, z):
        edges = ", ".join(f"{u}-{v}" for u, v in z["edges"])
        return self.prompt_template.format(edges=edges, s=z["s"], t=z["t"])

    def _process(self, y):
        text = "".join(y.split())
        if not re.fullmatch(r"\(\d{1,4},\d{1,4}\)(,\(\d{1,4},\d{1,4}\))*", text):
            return None
        return [(int(u), int(v)) for u, v in re.findall(r"\((\d+),(\d+)\)", text)]

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
