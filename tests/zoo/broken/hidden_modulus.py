# expect: L4.hidden-latent
# The result is taken modulo a number that is drawn but never shown.
import random


class ModularTotal(VerifiableEnvironment):
    prompt_template = "Add the numbers {numbers} and give the remainder after division."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        numbers = [rng.randint(10, 99) for _ in range(4 + difficulty)]
        modulus = rng.randint(7, 23)
        return {"numbers": numbers, "modulus": modulus}, sum(numbers) % modulus

    def _prompt_generate(self, z):
        return self.prompt_template.format(numbers=z["numbers"])

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
