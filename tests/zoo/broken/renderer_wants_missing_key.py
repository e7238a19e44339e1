# expect: L2.raises
# The template asks for a value that the instance does not have.
import random


class Discount(VerifiableEnvironment):
    prompt_template = "A {item} costs {price} euros and is reduced by {percent} percent. How many cents is the new price?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        price, percent = rng.randint(10, 100 * (difficulty + 1)), rng.randint(5, 60)
        return {"price": price, "percent": percent}, price * (100 - percent)

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
