# expect: sound
import functools
import random


class NimMove(VerifiableEnvironment):
    """A game: any winning move is right; positions are drawn until there is one."""

    prompt_template = (
        "Nim with the heaps {heaps}: a move takes one or more stones from one heap, and whoever takes the last stone "
        "wins. You are to move and can force a win. Give a winning move as the index of the heap (from 0) and the "
        "number of stones to take, separated by a space."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        while True:
            heaps = [rng.randint(1, 7 + 2 * difficulty) for _ in range(3 + difficulty // 3)]
            total = functools.reduce(lambda x, y: x ^ y, heaps)
            if total:
                break
        i = next(i for i, h in enumerate(heaps) if h ^ total < h)
        return {"heaps": heaps}, [i, heaps[i] - (heaps[i] ^ total)]

    def _prompt_generate(self, z):
        return self.prompt_template.format(heaps=z["heaps"])

    def _process(self, y):
        parts = y.split()
        if len(parts) != 2 or not all(p.isascii() and p.isdigit() and len(p) < 6 for p in parts):
            return None
        return int(parts[0]), int(parts[1])

    def scorer(self, y, z, a):
        move = self._process(y)
        if move is None or move[0] >= len(z["heaps"]) or not 1 <= move[1] <= z["heaps"][move[0]]:
            return 0.0
        heaps = list(z["heaps"])
        heaps[move[0]] -= move[1]
        return float(functools.reduce(lambda x, y: x ^ y, heaps) == 0)
