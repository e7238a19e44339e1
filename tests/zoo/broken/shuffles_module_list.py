# expect: L3.instance-unstable
# Shuffling the module's list in place makes each instance depend on all earlier ones.
import random

CITIES = ["Oslo", "Rome", "Paris", "Vienna", "Madrid", "Athens", "Prague", "Dublin", "Lisbon", "Warsaw",
          "Berlin", "Zagreb", "Sofia", "Tallinn", "Riga", "Vilnius"]


class RoundTrip(VerifiableEnvironment):
    prompt_template = "A tour visits {tour}. Legs take {hours} hours. How many hours pass between {first} and {last}?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        rng.shuffle(CITIES)
        tour = CITIES[: 4 + difficulty]
        hours = [rng.randint(1, 9) for _ in tour[1:]]
        i, j = sorted(rng.sample(range(len(tour)), 2))
        return {"tour": tour, "hours": hours, "first": tour[i], "last": tour[j]}, sum(hours[i:j])

    def _prompt_generate(self, z):
        return self.prompt_template.format(
            tour=", ".join(z["tour"]), hours=z["hours"], first=z["first"], last=z["last"]
        )

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
