# expect: sound
import random


class LatinSquare(VerifiableEnvironment):
    """Complete a Latin square; every valid completion is accepted."""

    prompt_template = (
        "Fill in the {n} by {n} grid so that each row and each column holds the numbers 1 to {n} once. "
        "0 marks an empty cell.\n{grid}\nWrite the full grid, one row per line, numbers separated by spaces."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = 4 + difficulty // 4
        symbols, rows, columns = (rng.sample(range(n), n) for _ in range(3))
        full = [[symbols[(r + c) % n] + 1 for c in columns] for r in rows]
        holes = set(rng.sample(range(n * n), min(n * n - n, 3 + difficulty)))
        grid = [[0 if r * n + c in holes else full[r][c] for c in range(n)] for r in range(n)]
        return {"grid": grid}, full

    def _prompt_generate(self, z):
        return self.prompt_template.format(n=len(z["grid"]), grid="\n".join(" ".join(map(str, r)) for r in z["grid"]))

    def _process(self, y):
        try:
            return [[int(t) for t in line.split()] for line in y.strip().splitlines()[:30]]
        except ValueError:
            return None

    def scorer(self, y, z, a):
        rows, grid = self._process(y), z["grid"]
        n = len(grid)
        want = list(range(1, n + 1))
        if rows is None or len(rows) != n or any(sorted(row) != want for row in rows):
            return 0.0
        if any(sorted(column) != want for column in zip(*rows)):
            return 0.0
        return float(all(g in (0, v) for given, row in zip(grid, rows) for g, v in zip(given, row)))
