# expect: sound
import random


class GraphColouring(VerifiableEnvironment):
    """Planted colouring; the scorer verifies any proper colouring."""

    prompt_template = (
        "Colour the vertices 0 to {last} with the colours R, G and B so that the two ends of each of these edges differ: "
        "{edges}.\nWrite one letter per vertex, in the order of the vertices, without spaces."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = 6 + difficulty
        colours = [rng.choice("RGB") for _ in range(n)]
        pairs = [(u, v) for v in range(n) for u in range(v) if colours[u] != colours[v]]
        edges = rng.sample(pairs, min(len(pairs), 2 * n))
        return {"n": n, "edges": edges}, "".join(colours)

    def _prompt_generate(self, z):
        return self.prompt_template.format(last=z["n"] - 1, edges=", ".join(f"{u}-{v}" for u, v in z["edges"]))

    def _process(self, y):
        text = "".join(y.split()).upper()
        return text if text and set(text) <= set("RGB") else None

    def scorer(self, y, z, a):
        colours = self._process(y)
        if colours is None or len(colours) != z["n"]:
            return 0.0
        return float(all(colours[u] != colours[v] for u, v in z["edges"]))
