# expect: L1.missing-method
# _process is called but nowhere defined.
import random


class TrailingZeros(VerifiableEnvironment):
    prompt_template = "With how many zeros does {n}! end?"

    def _generate(self, seed, difficulty):
        n = random.Random(seed).randint(10, 100 * (difficulty + 1))
        zeros, power = 0, 5
        while power <= n:
            zeros += n // power
            power *= 5
        return {"n": n}, zeros

    def _prompt_generate(self, z):
        return self.prompt_template.format(n=z["n"])

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
