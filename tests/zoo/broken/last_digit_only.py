# expect: L5.perturbed-accepted
# Only the last digit is compared.
import random


class CheckDigit(VerifiableEnvironment):
    prompt_template = "Multiply the digits of {n} that are not zero. What is the product?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = rng.randint(10**4, 10 ** (5 + difficulty))
        product = 1
        for c in str(n):
            product *= int(c) or 1
        return {"n": n}, product

    def _prompt_generate(self, z):
        return self.prompt_template.format(n=z["n"])

    def _process(self, y):
        try:
            return int(y.strip())
        except ValueError:
            return None

    def scorer(self, y, z, a):
        value = self._process(y)
        return 1.0 if value is not None and value % 10 == a % 10 else 0.0
