# expect: L5.permissive
# The colouring is checked against the first edge only: "return" sits inside the loop.
import random


class MapColours(VerifiableEnvironment):
    prompt_template = "Colour the countries 0 to {last} with colours 0 to {k} so that neighbours differ. Neighbours: {edges}. Write one colour per country, separated by spaces."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n, k = 6 + difficulty, 4
        colours = [rng.randrange(k) for _ in range(n)]
        edges = [(u, v) for v in range(n) for u in range(v) if colours[u] != colours[v] and rng.random() < 0.6]
        if not edges:
            colours[0], colours[1], edges = 0, 1, [(0, 1)]
        return {"n": n, "k": k, "edges": edges}, colours

    def _prompt_generate(self, z):
        edges = ", ".join(f"{u}-{v}" for u, v in z["edges"])
        return self.prompt_template.format(last=z["n"] - 1, k=z["k"] - 1, edges=edges)

    def _process(self, y):
        try:
            return [int(t) for t in y.split()]
        except ValueError:
            return None

    def scorer(self, y, z, a):
        colours = self._process(y)
        if colours is None or len(colours) < z["n"]:
            return 0.0
        for u, v in z["edges"]:
            return 1.0 if colours[u] != colours[v] else 0.0
