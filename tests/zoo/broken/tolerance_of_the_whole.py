# expect: L5.perturbed-accepted
# One element may be off by as much as a share of them all.
import random


class ToleranceOfTheWhole(VerifiableEnvironment):
    prompt_template = "Multiply each of these numbers by {factor}: {numbers}. Give the products, separated by spaces."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        numbers = [rng.randint(1000, 9000) for _ in range(2 + difficulty)]
        numbers.insert(1, rng.randint(1, 3))
        factor = rng.randint(3, 9)
        return {"factor": factor, "numbers": numbers}, [factor * number for number in numbers]

    def _prompt_generate(self, z):
        return self.prompt_template.format(factor=z["factor"], numbers=", ".join(map(str, z["numbers"])))

    def _process(self, y):
        try:
            return [int(part) for part in y.split()] or None
        except ValueError:
            return None

    def scorer(self, y, z, a):
        given = self._process(y)
        if given is None or len(given) != len(a):
            return 0.0
        return 1.0 if sum(abs(x - y) for x, y in zip(given, a)) <= 0.001 * sum(a) else 0.0
