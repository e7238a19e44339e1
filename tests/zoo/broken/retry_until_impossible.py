# expect: L2.too-slow
# The retry loop looks for a rare event that no longer happens at higher levels.
import random


class AllDistinct(VerifiableEnvironment):
    prompt_template = "Seats are drawn by lot: {draws}. What is the sum of the first and the last seat number?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = 4 + 2 * difficulty
        while True:
            draws = [rng.randint(1, 12) for _ in range(n)]
            if len(set(draws)) == n:
                return {"draws": draws}, draws[0] + draws[-1]

    def _prompt_generate(self, z):
        return self.prompt_template.format(draws=z["draws"])

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
