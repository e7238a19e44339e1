# expect: L4.answer-nearly-constant
# The greatest common divisor of many random numbers is 1.
import math
import random


class BigGcd(VerifiableEnvironment):
    prompt_template = "What is the greatest common divisor of {numbers}?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        numbers = [rng.randint(100, 999) for _ in range(6 + difficulty)]
        if rng.random() < 0.04:
            numbers = [n * 3 for n in numbers]
        return {"numbers": numbers}, math.gcd(*numbers)

    def _prompt_generate(self, z):
        return self.prompt_template.format(numbers=z["numbers"])

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
