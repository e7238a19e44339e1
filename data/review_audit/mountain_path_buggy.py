import random


class MountainPath(VerifiableEnvironment):
    """Easiest way down a slope."""

    prompt_template = (
        "The effort of each square of a slope:\n{grid}\n"
        "Start in the top left square, move only right or down, and end in the bottom right square. "
        "The effort of a path is the sum over all its squares, first and last included. What is the least effort?"
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        rows, columns = 3 + difficulty // 2, 3 + (difficulty + 1) // 2
        grid = [[rng.randint(1, 9 + difficulty) for _ in range(columns)] for _ in range(rows)]
        return {"grid": grid}, self._least(grid)

    def _least(self, grid):
        rows, columns = len(grid), len(grid[0])
        cost = [[0] * columns for _ in range(rows)]
        cost[0][0] = grid[0][0]
        for i in range(1, rows):
            cost[i][0] = grid[i][0]
        for j in range(1, columns):
            cost[0][j] = cost[0][j - 1] + grid[0][j]
        for i in range(1, rows):
            for j in range(1, columns):
                cost[i][j] = grid[i][j] + min(cost[i - 1][j], cost[i][j - 1])
        return cost[-1][-1]

    def _prompt_generate(self, z):
        return self.prompt_template.format(grid="\n".join(" ".join(map(str, row)) for row in z["grid"]))

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
