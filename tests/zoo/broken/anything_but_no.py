# expect: L5.malformed-rewarded
# Whatever does not contain "no" is taken for a yes.
import random


class SquareFree(VerifiableEnvironment):
    prompt_template = "Is {n} free of square factors (no square greater than 1 divides it)? Answer yes or no."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = rng.randint(20, 400 * (difficulty + 1))
        return {"n": n}, "yes" if all(n % (d * d) for d in range(2, int(n**0.5) + 1)) else "no"

    def _prompt_generate(self, z):
        return self.prompt_template.format(n=z["n"])

    def _process(self, y):
        if not y.strip():
            return None
        return "no" if "no" in y.lower() else "yes"

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
