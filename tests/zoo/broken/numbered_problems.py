# expect: L3.prompt-unstable
# A class-level counter numbers the prompts.
import random


class Temperature(VerifiableEnvironment):
    counter = 0
    prompt_template = "Problem {number}: the temperatures were {temps}. On how many days was it warmer than the day before?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        temps = [rng.randint(-5, 25) for _ in range(6 + difficulty)]
        return {"temps": temps}, sum(b > a for a, b in zip(temps, temps[1:]))

    def _prompt_generate(self, z):
        Temperature.counter += 1
        return self.prompt_template.format(number=Temperature.counter, temps=z["temps"])

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
