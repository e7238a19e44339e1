# expect: L2.roundtrip
# Walls are recognised by object identity with a module-level sentinel; after storage there are no walls any more.
import random

WALL = ("wall",)
FREE = ("free",)


class WallCount(VerifiableEnvironment):
    prompt_template = "In this map # is a wall:\n{rows}\nHow many walls have a free cell (.) directly to their right?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = 4 + difficulty // 2
        cells = [[WALL if rng.random() < 0.5 else FREE for _ in range(n)] for _ in range(n)]
        count = sum(a is WALL and b is FREE for row in cells for a, b in zip(row, row[1:]))
        return {"cells": cells}, count

    def _prompt_generate(self, z):
        rows = "\n".join("".join("#" if cell is WALL else "." for cell in row) for row in z["cells"])
        return self.prompt_template.format(rows=rows)

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
