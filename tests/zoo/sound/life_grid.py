# expect: sound
import random


class LifeStep(VerifiableEnvironment):
    """A grid of characters, one row per line."""

    prompt_template = (
        "Apply one step of Conway's Game of Life to this grid (# is alive, . is dead, everything outside is dead):\n"
        "{grid}\nWrite the next grid in the same form, one row per line."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = 4 + difficulty // 2
        grid = [[rng.random() < 0.4 for _ in range(n)] for _ in range(n)]

        def alive(i, j):
            return 0 <= i < n and 0 <= j < n and grid[i][j]

        rows = []
        for i in range(n):
            row = ""
            for j in range(n):
                around = sum(alive(i + di, j + dj) for di in (-1, 0, 1) for dj in (-1, 0, 1)) - grid[i][j]
                row += "#" if around == 3 or (around == 2 and grid[i][j]) else "."
            rows.append(row)
        return {"grid": ["".join("#" if c else "." for c in row) for row in grid]}, rows

    def _prompt_generate(self, z):
        return self.prompt_template.format(grid="\n".join(z["grid"]))

    def _process(self, y):
        rows = y.split()
        if not rows or len(rows) > 50 or any(set(row) - {"#", "."} for row in rows):
            return None
        return rows

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
