# expect: L4.difficulty-ignored
# The difficulty only stirs the random numbers; all levels are equally hard.
import random


class TrainCars(VerifiableEnvironment):
    prompt_template = "A train has cars of lengths {cars}. What is the total length of the cars at even positions (the first has position 1)?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed * 1000 + difficulty)
        cars = [rng.randint(10, 40) for _ in range(9)]
        return {"cars": cars}, sum(cars[1::2])

    def _prompt_generate(self, z):
        return self.prompt_template.format(cars=z["cars"])

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
