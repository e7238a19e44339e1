import collections
import random
import re


class MouseInMaze(VerifiableEnvironment):
    """Fewest moves through a maze."""

    prompt_template = (
        "A maze (# is a wall):\n{rows}\nA mouse sits in the top left square and moves one square up, down, left or right "
        "at a time, never into a wall. What is the smallest number of moves that takes it to the bottom right square? "
        "Answer -1 if it cannot get there."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        height, width = 4 + difficulty, 5 + difficulty
        rows = [["#" if rng.random() < 0.28 else "." for _ in range(width)] for _ in range(height)]
        rows[0][0] = rows[-1][-1] = "."
        rows = ["".join(row) for row in rows]
        return {"rows": rows}, self._moves(rows)

    def _moves(self, rows):
        height, width = len(rows), len(rows[0])
        queue = collections.deque([(0, 0, 0)])
        seen = {(0, 0)}
        while queue:
            y, x, moves = queue.popleft()
            if (y, x) == (height - 1, width - 1):
                return moves
            for ny, nx in ((y + 1, x), (y - 1, x), (y, x + 1), (y, x - 1)):
                if 0 <= ny < height and 0 <= nx < width and rows[ny][nx] == "." and (ny, nx) not in seen:
                    seen.add((ny, nx))
                    queue.append((ny, nx, moves + 1))
        return -1

    def _prompt_generate(self, z):
        return self.prompt_template.format(rows="\n".join(z["rows"]))

    def _process(self, y):
        match = re.fullmatch(r"\s*(-?\d{1,30})\s*", y)
        if match is None:
            return None
        return int(match.group(1))

    def scorer(self, y, z, a):
        value = self._process(y)
        if value is None:
            return 0.0
        return float(value == a)
