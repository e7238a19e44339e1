import math
import random


class LargestFactor(VerifiableEnvironment):
    prompt_template = "What is the largest prime number that divides {number}?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        primes = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71]
        chosen = [rng.choice(primes[: min(8 + 3 * difficulty, 20)]) for _ in range(2 + difficulty // 2)]
        number = math.prod(chosen)
        return {"number": number}, max(chosen)

    def _prompt_generate(self, z):
        return self.prompt_template.format(number=z["number"])

    def _process(self, y):
        try:
            return int(y.strip())
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
