import random


class PostersOnWall(VerifiableEnvironment):
    """Wall area covered by posters."""

    prompt_template = (
        "Rectangular posters are glued to a wall, partly over each other. Each is given by its left, bottom, right and top "
        "edge in decimetres:\n{posters}\nHow many square decimetres of the wall are covered?"
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        size = 8 + 2 * difficulty
        posters = []
        for _ in range(3 + difficulty):
            left, bottom = rng.randint(0, size - 4), rng.randint(0, size - 4)
            posters.append([left, bottom, rng.randint(left + 2, size), rng.randint(bottom + 2, size)])
        return {"posters": posters}, self._covered(posters)

    def _covered(self, posters):
        total = sum((r - l) * (t - b) for l, b, r, t in posters)
        for i, (l1, b1, r1, t1) in enumerate(posters):
            for l2, b2, r2, t2 in posters[:i]:
                width = min(r1, r2) - max(l1, l2)
                height = min(t1, t2) - max(b1, b2)
                if width > 0 and height > 0:
                    total -= width * height
        return total

    def _prompt_generate(self, z):
        rows = [f"left {l}, bottom {b}, right {r}, top {t}" for l, b, r, t in z["posters"]]
        return self.prompt_template.format(posters="\n".join(rows))

    def _process(self, y):
        """The answer as an integer, or None when it is not one."""
        text = y.strip().replace(",", "")
        try:
            return int(text)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        parsed = self._process(y)
        return 1.0 if parsed is not None and parsed == a else 0.0
