import math
import random


class GardenPlot(VerifiableEnvironment):
    """Area of a polygon on grid points."""

    prompt_template = (
        "A garden is a polygon with these corners, in order around it: {corners}. "
        "What is twice its area? (It is a whole number.)"
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        size = 8 + 4 * difficulty
        corners = {(rng.randint(1, size), 0), (0, rng.randint(1, size)), (-rng.randint(1, size), 0), (0, -rng.randint(1, size))}
        for _ in range(1 + difficulty):
            x, y = rng.randint(-size, size), rng.randint(-size, size)
            if x or y:
                corners.add((x, y))
        # Keep the outermost corner in each direction, and go around the origin.
        by_direction = {}
        for x, y in sorted(corners, key=lambda c: c[0] ** 2 + c[1] ** 2):
            by_direction[round(math.atan2(y, x), 6)] = [x, y]
        shift = rng.randint(1, size)
        corners = [[x + shift, y + shift] for _, (x, y) in sorted(by_direction.items())]
        return {"corners": corners}, self._twice_area(corners)

    def _twice_area(self, corners):
        total = 0
        for i in range(len(corners) - 1):
            x1, y1 = corners[i]
            x2, y2 = corners[i + 1]
            total += x1 * y2 - x2 * y1
        return abs(total)

    def _prompt_generate(self, z):
        return self.prompt_template.format(corners=", ".join(f"({x}, {y})" for x, y in z["corners"]))

    def _process(self, y):
        try:
            return int(y.strip())
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
