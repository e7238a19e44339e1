# expect: sound
import random
from collections import deque

MOVES = {"↑": (-1, 0), "↓": (1, 0), "←": (0, -1), "→": (0, 1)}


class ArrowPath(VerifiableEnvironment):
    """Non-ASCII answers; any shortest way is right."""

    prompt_template = "Find a shortest way from S to T over free cells (.), around walls (#):\n{grid}\nWrite it as a string of the arrows ↑ ↓ ← →."

    def _solve(self, grid, s, t):
        n = len(grid)
        way, queue = {s: ""}, deque([s])
        while queue:
            i, j = queue.popleft()
            for arrow, (di, dj) in MOVES.items():
                p = (i + di, j + dj)
                if 0 <= p[0] < n and 0 <= p[1] < n and grid[p[0]][p[1]] != "#" and p not in way:
                    way[p] = way[i, j] + arrow
                    queue.append(p)
        return way.get(t)

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = 4 + difficulty // 2
        while True:
            grid = [["#" if rng.random() < 0.25 else "." for _ in range(n)] for _ in range(n)]
            s, t = (rng.randrange(n), rng.randrange(n)), (rng.randrange(n), rng.randrange(n))
            grid[s[0]][s[1]], grid[t[0]][t[1]] = "S", "T"
            way = self._solve(grid, s, t) if s != t else None
            if way and len(way) > 2:
                return {"grid": ["".join(row) for row in grid], "s": s, "t": t}, way

    def _prompt_generate(self, z):
        return self.prompt_template.format(grid="\n".join(z["grid"]))

    def _process(self, y):
        text = "".join(y.split())
        return text if text and set(text) <= set(MOVES) else None

    def scorer(self, y, z, a):
        way = self._process(y)
        if way is None or len(way) != len(a):
            return 0.0
        (i, j), n = z["s"], len(z["grid"])
        for arrow in way:
            i, j = i + MOVES[arrow][0], j + MOVES[arrow][1]
            if not (0 <= i < n and 0 <= j < n) or z["grid"][i][j] == "#":
                return 0.0
        return 1.0 if (i, j) == tuple(z["t"]) else 0.0
