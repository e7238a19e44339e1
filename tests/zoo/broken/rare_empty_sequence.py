# expect: L2.rare-crash
# Now and then no number is odd, and max() gets nothing.
import random


class LargestOdd(VerifiableEnvironment):
    prompt_template = "What is the largest odd number among {numbers}, doubled?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        numbers = [rng.randint(10, 99) for _ in range(5 + difficulty)]
        return {"numbers": numbers}, 2 * max(n for n in numbers if n % 2)

    def _prompt_generate(self, z):
        return self.prompt_template.format(numbers=z["numbers"])

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
