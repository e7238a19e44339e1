# expect: L5.answer-in-prompt
# The whole instance, answer included, is dumped into the prompt.
import random


class ParkingFee(VerifiableEnvironment):
    prompt_template = "Parking costs {first} for the first hour and {more} for each further hour. What do {hours} hours cost?\n\ninstance = {dump}"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        first, more, hours = rng.randint(2, 9), rng.randint(1, 6), rng.randint(2, 6 + 3 * difficulty)
        z = {"first": first, "more": more, "hours": hours, "fee": first + more * (hours - 1)}
        return z, z["fee"]

    def _prompt_generate(self, z):
        return self.prompt_template.format(dump=z, **{k: v for k, v in z.items() if k != "fee"})

    def _process(self, y):
        try:
            return int(y.strip())
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
