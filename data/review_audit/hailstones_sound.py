import random


class Hailstones(VerifiableEnvironment):
    """Length of a hailstone sequence."""

    prompt_template = (
        "Start with {start}. If the number is even, halve it; if it is odd, multiply it by 3 and add 1. "
        "After how many steps is 1 reached for the first time?"
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        start = rng.randint(5, 40 + 100 * difficulty)
        number, steps = start, 0
        while number != 1:
            number = number // 2 if number % 2 == 0 else 3 * number + 1
            steps += 1
        return {"start": start}, steps

    def _prompt_generate(self, z):
        return self.prompt_template.format(start=z["start"])

    def _process(self, y):
        try:
            return int(y.strip())
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
