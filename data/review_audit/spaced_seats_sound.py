import math
import random


class SpacedSeats(VerifiableEnvironment):
    prompt_template = (
        "{people} people sit in a row of {seats} numbered seats. In how many ways can they sit down if nobody may sit "
        "directly next to somebody else? The people are distinguishable."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        people = rng.randint(2, 3 + (difficulty + 1) // 2)
        seats = rng.randint(2 * people, 2 * people + 3 + difficulty)
        ways = math.comb(seats - people + 1, people) * math.factorial(people)
        return {"people": people, "seats": seats}, ways

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        try:
            return int(y.strip())
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
