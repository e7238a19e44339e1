# expect: sound
import random


def extend(n, columns):
    """Complete a partial placement (one queen per row) by backtracking."""
    row = len(columns)
    if row == n:
        return columns
    for c in range(n):
        if all(c != d and abs(c - d) != row - r for r, d in enumerate(columns)):
            found = extend(n, columns + [c])
            if found:
                return found
    return None


class QueensCompletion(VerifiableEnvironment):
    prompt_template = (
        "Place {n} queens on a {n} by {n} board, one in each row, so that no two share a column or a diagonal. "
        "The queens of the first {k} rows stand in the columns {given} (columns are numbered from 0). "
        "Write the columns of all {n} queens from the first row to the last, separated by spaces."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = 6 + difficulty // 2
        while True:
            first = [rng.randrange(n)]
            second = rng.choice([c for c in range(n) if abs(c - first[0]) > 1])
            solution = extend(n, first + [second])
            if solution:
                break
        k = rng.randint(1, 2)
        return {"n": n, "given": solution[:k]}, solution

    def _prompt_generate(self, z):
        given = ", ".join(map(str, z["given"]))
        return self.prompt_template.format(n=z["n"], k=len(z["given"]), given=given)

    def _process(self, y):
        tokens = y.replace(",", " ").split()
        if len(tokens) > 100 or not all(t.isascii() and t.isdigit() and len(t) < 4 for t in tokens):
            return None
        return [int(t) for t in tokens] or None

    def scorer(self, y, z, a):
        columns, n = self._process(y), z["n"]
        if columns is None or len(columns) != n or columns[: len(z["given"])] != list(z["given"]):
            return 0.0
        if any(c >= n for c in columns) or len(set(columns)) != n:
            return 0.0
        if len({c + r for r, c in enumerate(columns)}) != n or len({c - r for r, c in enumerate(columns)}) != n:
            return 0.0
        return 1.0
