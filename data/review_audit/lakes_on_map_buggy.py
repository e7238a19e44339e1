import random


class LakesOnMap(VerifiableEnvironment):
    """Count lakes on a map."""

    prompt_template = (
        "On this map ~ is water and # is land:\n{rows}\n"
        "Two water squares belong to the same lake if they touch, at a side or at a corner. How many lakes are there?"
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        size = 5 + difficulty
        rows = ["".join("~" if rng.random() < 0.3 else "#" for _ in range(size)) for _ in range(size)]
        return {"rows": rows}, self._lakes(rows)

    def _lakes(self, rows):
        water = {(x, y) for y, row in enumerate(rows) for x, square in enumerate(row) if square == "~"}
        lakes = 0
        while water:
            lakes += 1
            stack = [water.pop()]
            while stack:
                x, y = stack.pop()
                for near in ((x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)):
                    if near in water:
                        water.remove(near)
                        stack.append(near)
        return lakes

    def _prompt_generate(self, z):
        return self.prompt_template.format(rows="\n".join(z["rows"]))

    def _process(self, y):
        try:
            return int(y.strip())
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
