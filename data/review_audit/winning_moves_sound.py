import random
import re


class WinningMoves(VerifiableEnvironment):
    """Nim: count the moves that win."""

    prompt_template = (
        "Two players take turns; a move takes one or more stones from a single heap, and whoever takes the last stone "
        "wins. The heaps hold {heaps} stones. How many different first moves (heap and number of stones) lead to a sure "
        "win for the player who makes them?"
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        heaps = [rng.randint(1, 6 + 3 * difficulty) for _ in range(2 + difficulty // 2)]
        if rng.random() < 0.35:
            heaps.append(0)
            for heap in heaps[:-1]:
                heaps[-1] ^= heap
            heaps[-1] = heaps[-1] or rng.randint(1, 5)
        else:
            heaps.append(rng.randint(1, 6 + 3 * difficulty))
        total = 0
        for heap in heaps:
            total ^= heap
        moves = sum((heap ^ total) < heap for heap in heaps)
        return {"heaps": heaps}, moves

    def _prompt_generate(self, z):
        return self.prompt_template.format(heaps=", ".join(map(str, z["heaps"])))

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
