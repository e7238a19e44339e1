# expect: sound
import math
import random


class UrnProbability(VerifiableEnvironment):
    """A probability; the stated tolerance is absolute."""

    prompt_template = "An urn has {r} red and {b} blue balls. {k} balls are drawn without putting back. What is the probability that all are red? Give a decimal number; an error of up to 0.001 is accepted."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        r, b = rng.randint(4, 8 + difficulty), rng.randint(1, 5)
        k = rng.randint(2, 3)
        return {"r": r, "b": b, "k": k}, math.comb(r, k) / math.comb(r + b, k)

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        try:
            p = float(y.strip())
        except ValueError:
            return None
        return p if 0.0 <= p <= 1.0 else None

    def scorer(self, y, z, a):
        p = self._process(y)
        return 1.0 if p is not None and abs(p - a) <= 0.001 else 0.0
