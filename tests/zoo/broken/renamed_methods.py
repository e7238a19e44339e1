# expect: L1.missing-method
# The methods carry the names of another framework.
import random


class HeightOrder(VerifiableEnvironment):
    prompt_template = "Sort these heights from tall to small: {heights}"

    def generate(self, seed, difficulty):
        rng = random.Random(seed)
        heights = rng.sample(range(120, 210), 4 + difficulty)
        return {"heights": heights}, sorted(heights, reverse=True)

    def prompt(self, z):
        return self.prompt_template.format(heights=z["heights"])

    def parse(self, y):
        return [int(t) for t in y.split()]

    def score(self, y, z, a):
        return float(self.parse(y) == a)
