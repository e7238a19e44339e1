"""An environment: how to make a problem, show it, and score an answer. `evoenv validate examples/digits.py`."""

import random

from evoenv import VerifiableEnvironment


class Digits(VerifiableEnvironment):
    """The sum of a number's digits."""

    prompt_template = "What is the sum of the digits of {number}? Give one integer."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        number = rng.randrange(10 ** (2 + difficulty), 10 ** (3 + difficulty))
        return {"number": number}, sum(int(digit) for digit in str(number))

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
