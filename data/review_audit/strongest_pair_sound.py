import itertools
import random


class StrongestPair(VerifiableEnvironment):
    """Largest XOR of two numbers."""

    prompt_template = (
        "Choose two different numbers from {numbers}. What is the largest value that their bitwise XOR can have?"
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        numbers = rng.sample(range(1, 64 << difficulty), 4 + 2 * difficulty)
        return {"numbers": numbers}, self._largest(numbers)

    def _largest(self, numbers):
        return max(a ^ b for a, b in itertools.combinations(numbers, 2))

    def _prompt_generate(self, z):
        return self.prompt_template.format(numbers=", ".join(map(str, z["numbers"])))

    def _process(self, y):
        try:
            return int(y.strip())
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
