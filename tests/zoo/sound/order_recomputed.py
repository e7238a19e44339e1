# expect: sound
# The twin of sorts_both_sides: the order counts.
import random


class OrderRecomputed(VerifiableEnvironment):
    prompt_template = (
        "These people were born in: {born}. List their names from the oldest to the youngest, separated by commas."
    )
    names = ("Ada", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gus", "Hana", "Ivo", "Jil", "Kai", "Lea", "Max", "Nia", "Ole")

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        people = rng.sample(self.names, min(5 + difficulty, len(self.names)))
        born = dict(zip(people, rng.sample(range(1930, 2020), len(people))))
        return {"born": born}, sorted(born, key=born.get)

    def _prompt_generate(self, z):
        return self.prompt_template.format(born=", ".join(f"{name} {year}" for name, year in z["born"].items()))

    def _process(self, y):
        names = [name.strip() for name in y.split(",")]
        return names if all(name in self.names for name in names) else None

    def scorer(self, y, z, a):
        names = self._process(y)
        if names is None:
            return 0.0
        return 1.0 if names == sorted(z["born"], key=z["born"].get) else 0.0
