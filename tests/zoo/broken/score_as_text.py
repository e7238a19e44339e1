# expect: L2.bad-result
# The scorer says "correct" instead of giving a number.
import random


class Perimeter(VerifiableEnvironment):
    prompt_template = "A rectangle has the area {area} and one side of length {side}. What is its perimeter?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        a, b = rng.randint(2, 10 + 5 * difficulty), rng.randint(2, 10 + 5 * difficulty)
        return {"area": a * b, "side": a}, 2 * (a + b)

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return "correct" if self._process(y) == a else "wrong"
