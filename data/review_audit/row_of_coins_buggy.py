import random


class RowOfCoins(VerifiableEnvironment):
    """Take coins from the ends of a row."""

    prompt_template = (
        "A row of coins: {coins}. Two players take turns, and each takes the coin at the left or at the right end of what "
        "is left. Both play so that they get as much as possible. What total does the first player get?"
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        coins = [rng.randint(1, 20 + 5 * difficulty) for _ in range(4 + 2 * difficulty)]
        return {"coins": coins}, self._first_player(coins)

    def _first_player(self, coins):
        i, j = 0, len(coins) - 1
        totals = [0, 0]
        turn = 0
        while i <= j:
            if coins[i] >= coins[j]:
                totals[turn] += coins[i]
                i += 1
            else:
                totals[turn] += coins[j]
                j -= 1
            turn = 1 - turn
        return totals[0]

    def _prompt_generate(self, z):
        return self.prompt_template.format(coins=", ".join(map(str, z["coins"])))

    def _process(self, y):
        try:
            return int(y.strip())
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
