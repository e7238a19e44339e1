# expect: L4.hidden-latent
# The oracle computes with all digits of a number of which the prompt shows one.
import random


class RentedCar(VerifiableEnvironment):
    prompt_template = "A rented car costs {base} euros plus {rate:.1f} euros per kilometre. How many cents do {km} kilometres cost?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        base, rate = rng.randint(20, 80), rng.uniform(0.5, 3.0)
        km = rng.randint(50, 300 + 100 * difficulty)
        return {"base": base, "rate": rate, "km": km}, round(100 * (base + rate * km))

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        try:
            return int(y.strip())
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
