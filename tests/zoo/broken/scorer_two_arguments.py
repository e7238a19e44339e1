# expect: L1.signature
# scorer takes (y, a): no dialect calls it that way.
import random


class Multiplication(VerifiableEnvironment):
    prompt_template = "What is {x} times {y}?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        x, y = rng.randint(2, 10 ** (1 + difficulty)), rng.randint(2, 99)
        return {"x": x, "y": y}, x * y

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, a):
        return 1.0 if self._process(y) == a else 0.0
