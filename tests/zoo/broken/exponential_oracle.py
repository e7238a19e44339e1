# expect: L2.too-slow
# The oracle tries all subsets of 12 + 3 * difficulty items: fine at low levels, hopeless at high ones.
import random


class FairSplit(VerifiableEnvironment):
    prompt_template = "Split the weights {weights} into two groups. What is the smallest possible difference of their sums?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        weights = [rng.randint(10, 500) for _ in range(8 + 3 * difficulty)]
        total, best = sum(weights), None
        for mask in range(1 << len(weights)):
            part = sum(w for i, w in enumerate(weights) if mask >> i & 1)
            gap = abs(total - 2 * part)
            if best is None or gap < best:
                best = gap
        return {"weights": weights}, best

    def _prompt_generate(self, z):
        return self.prompt_template.format(weights=z["weights"])

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
