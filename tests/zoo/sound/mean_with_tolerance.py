# expect: sound
import math
import random


class WeightedMean(VerifiableEnvironment):
    """A float answer; the prompt itself states the tolerance."""

    prompt_template = (
        "The weighted mean of the values v with the weights w is sum(v*w)/sum(w).\n{rows}\n"
        "Give the weighted mean as a decimal number. Answers within 0.005 of the exact value are accepted."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = 3 + difficulty
        rows = [(rng.randint(1, 50), rng.randint(1, 9)) for _ in range(n)]
        mean = sum(v * w for v, w in rows) / sum(w for _, w in rows)
        return {"rows": rows}, round(mean, 4)

    def _prompt_generate(self, z):
        return self.prompt_template.format(rows="\n".join(f"v = {v}, w = {w}" for v, w in z["rows"]))

    def _process(self, y):
        try:
            value = float(y.strip())
        except ValueError:
            return None
        return value if math.isfinite(value) else None

    def scorer(self, y, z, a):
        value = self._process(y)
        return 1.0 if value is not None and abs(value - a) <= 0.005 else 0.0
