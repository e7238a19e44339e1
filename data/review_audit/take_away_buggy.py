import random


class TakeAway(VerifiableEnvironment):
    prompt_template = (
        "A game for two: from a heap of matches a player takes {moves} matches, then the other, in turn. Whoever takes the "
        "last match wins, and a player who cannot move loses. For how many of the heap sizes 1 to {limit} does the player "
        "who moves first lose, if both play perfectly?"
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        moves = sorted(rng.sample(range(1, 7 + difficulty), 2 + difficulty // 3))
        limit = rng.randint(15, 25) + 8 * difficulty
        return {"moves": moves, "limit": limit}, self._lost(moves, limit)

    def _lost(self, moves, limit):
        wins = [True]
        for heap in range(1, limit + 1):
            wins.append(any(move <= heap and not wins[heap - move] for move in moves))
        return sum(not win for win in wins[1:])

    def _prompt_generate(self, z):
        moves = z["moves"]
        text = ", ".join(map(str, moves[:-1])) + f" or {moves[-1]}"
        return self.prompt_template.format(moves=text, limit=z["limit"])

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
