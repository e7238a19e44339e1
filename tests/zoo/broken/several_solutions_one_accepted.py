# expect: L4.ambiguous-prompt
# Many pairs have the product asked for; only the pair that was drawn is accepted.
import random


class FactorPair(VerifiableEnvironment):
    prompt_template = "Write {n} as a product of two integers greater than 1. Answer with the two factors, smaller first."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        x, y = sorted((rng.choice((2, 3, 4, 6, 8)), rng.choice((6, 12, 24)) + 12 * rng.randint(0, difficulty)))
        return {"n": x * y}, [x, y]

    def _prompt_generate(self, z):
        return self.prompt_template.format(n=z["n"])

    def _process(self, y):
        try:
            return [int(t) for t in y.replace(",", " ").split()] or None
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
