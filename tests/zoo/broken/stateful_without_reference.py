# expect: L2.bad-result
# The stateful shape, but the answer is stored under a name that nobody reads.
import random


class CargoLoad(VerifiableEnvironment):
    prompt_template = "A ship carries crates of {weights} tonnes. How many crates can be unloaded to get below {limit} tonnes, heaviest first?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        self.weights = [rng.randint(1, 30) for _ in range(4 + difficulty)]
        self.limit = rng.randint(10, sum(self.weights))
        rest, count = sum(self.weights), 0
        for w in sorted(self.weights, reverse=True):
            if rest < self.limit:
                break
            rest, count = rest - w, count + 1
        self.answer = count

    def _prompt_generate(self):
        return self.prompt_template.format(weights=self.weights, limit=self.limit)

    def _process(self, response):
        try:
            return int(response)
        except ValueError:
            return None

    def scorer(self, parsed):
        return 1.0 if parsed == self.answer else 0.0
