# expect: sound
import random
from collections import deque


class GridDistance(VerifiableEnvironment):
    """-1 stands for 'no way', on about a quarter of the instances."""

    prompt_template = (
        "In this grid you may step up, down, left or right between free cells (.), not through walls (#).\n{grid}\n"
        "How many steps does the shortest way from the top left to the bottom right cell take? Answer -1 if there is none."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = 4 + difficulty // 2
        grid = [["#" if rng.random() < 0.28 else "." for _ in range(n)] for _ in range(n)]
        grid[0][0] = grid[n - 1][n - 1] = "."
        distance, queue = {(0, 0): 0}, deque([(0, 0)])
        while queue:
            i, j = queue.popleft()
            for p, q in ((i + 1, j), (i - 1, j), (i, j + 1), (i, j - 1)):
                if 0 <= p < n and 0 <= q < n and grid[p][q] == "." and (p, q) not in distance:
                    distance[p, q] = distance[i, j] + 1
                    queue.append((p, q))
        return {"grid": ["".join(row) for row in grid]}, distance.get((n - 1, n - 1), -1)

    def _prompt_generate(self, z):
        return self.prompt_template.format(grid="\n".join(z["grid"]))

    def _process(self, y):
        try:
            return int(y.strip())
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
