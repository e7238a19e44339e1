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
        n = len(coins)
        lead = [[0] * n for _ in range(n)]
        for i in range(n - 1, -1, -1):
            lead[i][i] = coins[i]
            for j in range(i + 1, n):
                lead[i][j] = max(coins[i] - lead[i + 1][j], coins[j] - lead[i][j - 1])
        return (sum(coins) + lead[0][n - 1]) // 2

    def _prompt_generate(self, z):
        return self.prompt_template.format(coins=", ".join(map(str, z["coins"])))

    def _process(self, y):
        try:
            return int(y.strip())
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
