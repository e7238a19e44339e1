import random


class CellColony(VerifiableEnvironment):
    prompt_template = (
        "A colony of cells (* is alive, . is dead):\n{rows}\n"
        "In each generation a living cell with 2 or 3 living neighbours stays alive, a dead cell with exactly 3 living "
        "neighbours becomes alive, and all others are dead. Each cell has up to 8 neighbours; everything outside the "
        "picture is always dead. How many cells are alive after {generations} generations?"
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        size = 4 + difficulty
        rows = ["".join("*" if rng.random() < 0.4 else "." for _ in range(size)) for _ in range(size)]
        generations = 1 + rng.randint(0, 1 + difficulty // 2)
        return {"rows": rows, "generations": generations}, self._alive(rows, generations)

    def _alive(self, rows, generations):
        size = len(rows)
        alive = {(x, y) for y in range(size) for x in range(size) if rows[y][x] == "*"}
        for _ in range(generations):
            following = set()
            for x in range(size):
                for y in range(size):
                    near = sum(
                        (x + dx, y + dy) in alive for dx in (-1, 0, 1) for dy in (-1, 0, 1) if dx or dy
                    )
                    if near == 3 or near == 2 and (x, y) in alive:
                        following.add((x, y))
            alive = following
        return len(alive)

    def _prompt_generate(self, z):
        return self.prompt_template.format(rows="\n".join(z["rows"]), generations=z["generations"])

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
