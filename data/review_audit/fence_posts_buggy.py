import random


class FencePosts(VerifiableEnvironment):
    """Corners of a convex hull."""

    prompt_template = (
        "Trees stand at the points {trees}. A rope is pulled tight around all of them. At how many trees does the rope "
        "make a bend? A tree that the rope touches while running straight on does not count."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        size = 4 + difficulty
        trees = set()
        while len(trees) < 7 + 2 * difficulty:
            trees.add((rng.randint(0, size), rng.randint(0, size)))
        trees = sorted(trees)
        shown = [list(tree) for tree in trees]
        rng.shuffle(shown)
        return {"trees": shown}, self._bends(trees)

    def _bends(self, points):
        hull = []
        for chain in (points, points[::-1]):
            part = []
            for c in chain:
                while len(part) > 1:
                    p, q = part[-2], part[-1]
                    if (q[0] - p[0]) * (c[1] - p[1]) - (q[1] - p[1]) * (c[0] - p[0]) < 0:
                        part.pop()
                    else:
                        break
                part.append(c)
            hull += part[:-1]
        return len(set(hull))

    def _prompt_generate(self, z):
        return self.prompt_template.format(trees=", ".join(f"({x}, {y})" for x, y in z["trees"]))

    def _process(self, y):
        try:
            return int(y.strip())
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
