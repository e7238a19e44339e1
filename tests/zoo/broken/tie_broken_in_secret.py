# expect: L4.hidden-latent
# Ties are common, the winner among equals is drawn at random, and only that one is accepted.
import random


class BusiestHour(VerifiableEnvironment):
    prompt_template = "Visitors per hour, from hour 0 on: {visitors}. In which hour were there the most visitors?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        visitors = [rng.randint(1, 4) for _ in range(8 + 2 * difficulty)]
        top = max(visitors)
        best = [hour for hour, v in enumerate(visitors) if v == top]
        return {"visitors": visitors}, rng.choice(best)

    def _prompt_generate(self, z):
        return self.prompt_template.format(visitors=z["visitors"])

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
