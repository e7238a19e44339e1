# expect: L2.raises
# Leaves the program when it dislikes the draw, as a script would.
import random


class OddSquares(VerifiableEnvironment):
    prompt_template = "What is the sum of the squares of the odd numbers among {numbers}?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        numbers = [rng.randint(1, 30) for _ in range(3 + difficulty)]
        if sum(numbers) % 2 == 0:
            raise SystemExit("even total, try another seed")
        return {"numbers": numbers}, sum(n * n for n in numbers if n % 2)

    def _prompt_generate(self, z):
        return self.prompt_template.format(numbers=z["numbers"])

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
