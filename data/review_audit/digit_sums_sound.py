import random
import re


class DigitSums(VerifiableEnvironment):
    prompt_template = (
        "Multiply {a} by {b}. Add up the digits of the result, then the digits of that sum, and so on until a single digit "
        "is left. Which digit is it?"
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        a = rng.randint(12, 10 ** (2 + difficulty))
        b = rng.randint(12, 10 ** (2 + difficulty))
        value = a * b
        while value > 9:
            value = sum(int(digit) for digit in str(value))
        return {"a": a, "b": b}, value

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        match = re.fullmatch(r"\s*(-?\d{1,30})\s*", y)
        if match is None:
            return None
        return int(match.group(1))

    def scorer(self, y, z, a):
        value = self._process(y)
        if value is None:
            return 0.0
        return float(value == a)
