# expect: L2.raises
# There are only eight names: from level 6 on the sample is larger than the population.
import random

NAMES = ["Anna", "Ben", "Clara", "David", "Emma", "Felix", "Greta", "Hugo"]


class OldestPerson(VerifiableEnvironment):
    prompt_template = "{facts} Who is the second oldest?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        people = rng.sample(NAMES, 3 + difficulty)
        ages = rng.sample(range(10, 90), len(people))
        order = sorted(zip(ages, people), reverse=True)
        return {"people": people, "ages": ages}, order[1][1]

    def _prompt_generate(self, z):
        return self.prompt_template.format(
            facts=" ".join(f"{name} is {age}." for name, age in zip(z["people"], z["ages"]))
        )

    def _process(self, y):
        return y.strip().capitalize() if y.strip().isalpha() else None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
