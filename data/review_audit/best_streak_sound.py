import random


class BestStreak(VerifiableEnvironment):
    prompt_template = (
        "A shop's profit on {n} days in a row: {profits}.\n"
        "Choose a streak of one or more days in a row. What is the greatest total profit of a streak?"
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        profits = [rng.randint(-30, 12 + 2 * difficulty) for _ in range(4 + 2 * difficulty)]
        best = current = profits[0]
        for profit in profits[1:]:
            current = max(profit, current + profit)
            best = max(best, current)
        return {"profits": profits}, best

    def _prompt_generate(self, z):
        return self.prompt_template.format(n=len(z["profits"]), profits=", ".join(map(str, z["profits"])))

    def _process(self, y):
        try:
            return int(y.strip())
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
