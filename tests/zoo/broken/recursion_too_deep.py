# expect: L2.raises
# The oracle recurses once per unit; from level 4 on Python's recursion limit is reached.
import random


def ways(n, memo):
    if n < 0:
        return 0
    if n == 0:
        return 1
    if n not in memo:
        memo[n] = (ways(n - 1, memo) + ways(n - 3, memo)) % 1000
    return memo[n]


class StairsModulo(VerifiableEnvironment):
    prompt_template = "In how many ways can {n} be written as an ordered sum of 1s and 3s? Answer modulo 1000."

    def _generate(self, seed, difficulty):
        n = random.Random(seed).randint(20, 40) * 2**difficulty
        return {"n": n}, ways(n, {})

    def _prompt_generate(self, z):
        return self.prompt_template.format(n=z["n"])

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
