# expect: sound
import random
import re


class BigProduct(VerifiableEnvironment):
    prompt_template = "What is {x} * {y}? Write the exact product in decimal digits, without separators."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        digits = 15 + difficulty
        x = rng.randrange(10 ** (digits - 1), 10**digits)
        y = rng.randrange(10 ** (digits - 1), 10**digits)
        return {"x": x, "y": y}, x * y

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        return int(y) if re.fullmatch(r"\s*[0-9]{1,200}\s*", y) else None

    def scorer(self, y, z, a):
        value = self._process(y)
        return 1.0 if value is not None and value == a else 0.0
