# expect: sound
import random
import re

FILES = "abcdefghijklmnop"


class SafeSquares(VerifiableEnvironment):
    """Chess squares as a set: order does not matter, repetition is refused."""

    prompt_template = (
        "On a {n} by {n} chess board (files a to {last}, ranks 1 to {n}) these squares hold rooks: {rooks}. "
        "List every empty square that no rook attacks (rooks see past each other along files and ranks), "
        "in any order, separated by spaces."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = 4 + difficulty // 2
        k = rng.randint(1, n - 2)
        rooks = list(zip(rng.sample(range(n), k), (rng.randrange(n) for _ in range(k))))
        files, ranks = {f for f, _ in rooks}, {r for _, r in rooks}
        safe = [f"{FILES[f]}{r + 1}" for f in range(n) for r in range(n) if f not in files and r not in ranks]
        return {"n": n, "rooks": [f"{FILES[f]}{r + 1}" for f, r in rooks]}, safe

    def _prompt_generate(self, z):
        return self.prompt_template.format(n=z["n"], last=FILES[z["n"] - 1], rooks=" ".join(z["rooks"]))

    def _process(self, y):
        squares = y.lower().replace(",", " ").split()
        if not squares or not all(re.fullmatch(r"[a-p]\d{1,2}", s) for s in squares):
            return None
        return squares if len(set(squares)) == len(squares) else None

    def scorer(self, y, z, a):
        squares = self._process(y)
        return 1.0 if squares is not None and set(squares) == set(a) else 0.0
