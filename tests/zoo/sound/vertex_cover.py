# expect: sound
import random


class VertexCover(VerifiableEnvironment):
    """At most k vertices; there is a little slack, so one more than the planted cover may be fine."""

    prompt_template = "The roads {edges} connect the towns 0 to {last}. Place guards in at most {k} towns so that each road has a guard at one end at least. List the towns, separated by spaces."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = 7 + difficulty
        cover = sorted(rng.sample(range(n), n // 2))
        edges = set()
        while len(edges) < 2 * n:
            u, v = rng.choice(cover), rng.randrange(n)
            if u != v:
                edges.add((min(u, v), max(u, v)))
        edges = sorted(edges)
        rng.shuffle(edges)
        return {"n": n, "k": len(cover) + 1, "edges": edges}, cover

    def _prompt_generate(self, z):
        edges = ", ".join(f"{u}-{v}" for u, v in z["edges"])
        return self.prompt_template.format(edges=edges, last=z["n"] - 1, k=z["k"])

    def _process(self, y):
        tokens = y.replace(",", " ").split()
        if not tokens or not all(t.isascii() and t.isdigit() and len(t) < 5 for t in tokens):
            return None
        towns = [int(t) for t in tokens]
        return set(towns) if len(set(towns)) == len(towns) else None

    def scorer(self, y, z, a):
        towns = self._process(y)
        if towns is None or len(towns) > z["k"] or max(towns) >= z["n"]:
            return 0.0
        return float(all(u in towns or v in towns for u, v in z["edges"]))
