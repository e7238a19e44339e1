# expect: L1.syntax
# Written for Python 2.
import random


class DigitRoot(VerifiableEnvironment):
    prompt_template = "What is the digital root of {n}?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = rng.randint(10, 10 ** (difficulty + 2))
        print "generated", n
        return {"n": n}, 1 + (n - 1) % 9

    def _prompt_generate(self, z):
        return self.prompt_template.format(n=z["n"])

    def _process(self, y):
        try:
            return int(y)
        except ValueError, e:
            return None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
