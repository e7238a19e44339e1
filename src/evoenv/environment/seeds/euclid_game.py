import math
import random


class EuclidGame(VerifiableEnvironment):
    """Who wins Euclid's game? Knob: the size of the numbers. Scorer: exact match, two outcomes equally likely."""

    prompt_template = (
        "Alice and Bob play a game that starts with the two positive integers {x} and {y}. They take turns; Alice "
        "moves first. In a move, the player subtracts a positive multiple of the smaller number from the larger one; "
        "the result must not be negative. (If the numbers are equal, either is subtracted from the other.) The player "
        "who makes one of the numbers zero wins.\n\n"
        "Both play perfectly. Who wins? Answer with one name: Alice or Bob."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        top = 20 * (difficulty + 1) ** 3
        larger = rng.randint(top // 2, top)
        # Alice wins just when larger / smaller exceeds the golden ratio: draw from both sides of it equally often,
        # and the nearer the harder the level, since near it many forced moves come before the first choice.
        golden = (math.isqrt(5 * larger * larger) - larger) // 2
        spread = (larger - 1 - golden) // (difficulty + 1) ** 2
        smaller = golden + rng.choice([1 - rng.randint(1, spread), rng.randint(1, spread)])
        z = [larger, smaller]
        rng.shuffle(z)
        return z, "Alice" if self._mover_wins(*z) else "Bob"

    def _mover_wins(self, x, y):
        """Play forced moves until a player has a choice: to have one is to win, as one of two options is good."""
        larger, smaller, mover = max(x, y), min(x, y), True
        while larger < 2 * smaller and larger != smaller:
            larger, smaller, mover = smaller, larger - smaller, not mover
        return mover

    def _prompt_generate(self, z):
        return self.prompt_template.format(x=z[0], y=z[1])

    def _process(self, y):
        """One of the two names, or None."""
        name = y.strip().capitalize()
        return name if name in ("Alice", "Bob") else None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
