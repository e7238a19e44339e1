# expect: sound
import math
import random


class GcdOfList(VerifiableEnvironment):
    prompt_template = "Compute the greatest common divisor of these integers: {numbers}.\nAnswer with one integer."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        g = rng.randint(2, 12 + 10 * difficulty)
        numbers = [g * rng.randint(2, 40 + 20 * difficulty) for _ in range(3 + difficulty // 2)]
        return {"numbers": numbers}, math.gcd(*numbers)

    def _prompt_generate(self, z):
        return self.prompt_template.format(numbers=", ".join(map(str, z["numbers"])))

    def _process(self, y):
        try:
            return int(y.strip())
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
