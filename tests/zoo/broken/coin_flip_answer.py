# expect: L4.ambiguous-prompt
# Whether rounding goes up or down is drawn at random and the solver is not told; prompts repeat soon.
import random


class HalfOf(VerifiableEnvironment):
    prompt_template = "What is half of {n}, rounded to a whole number?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = 2 * rng.randint(1, 6 + 4 * difficulty) + 1
        return {"n": n}, n // 2 + rng.randint(0, 1)

    def _prompt_generate(self, z):
        return self.prompt_template.format(n=z["n"])

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
