# expect: L1.several-classes
# Two environments in one file: which one is meant?
import random


class EvenCount(VerifiableEnvironment):
    prompt_template = "How many even numbers are in {numbers}?"
    parity = 0

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        numbers = [rng.randint(0, 99) for _ in range(5 + difficulty)]
        return {"numbers": numbers}, sum(n % 2 == self.parity for n in numbers)

    def _prompt_generate(self, z):
        return self.prompt_template.format(numbers=z["numbers"])

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)


class DigitSum(VerifiableEnvironment):
    prompt_template = "What is the sum of the digits of {n}?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = rng.randint(10**difficulty, 10 ** (difficulty + 3))
        return {"n": n}, sum(map(int, str(n)))

    def _prompt_generate(self, z):
        return self.prompt_template.format(n=z["n"])

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
