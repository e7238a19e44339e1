# expect: sound
# The twin of tolerance_of_the_whole: every element counts.
import random


class EveryElementExact(VerifiableEnvironment):
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
        return 1.0 if given == a else 0.0
