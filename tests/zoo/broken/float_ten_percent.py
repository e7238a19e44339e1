# expect: L5.perturbed-accepted
# The prompt asks for two decimals, the scorer is content with ten percent.
import math
import random


class MeanSpeed(VerifiableEnvironment):
    prompt_template = "Parts of a trip: {parts}. What is the mean speed of the whole trip in km/h, to two decimals?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        parts = [(rng.randint(5, 90), rng.randint(1, 5)) for _ in range(2 + difficulty)]
        return {"parts": parts}, round(sum(d for d, _ in parts) / sum(h for _, h in parts), 2)

    def _prompt_generate(self, z):
        return self.prompt_template.format(parts=", ".join(f"{d} km in {h} h" for d, h in z["parts"]))

    def _process(self, y):
        try:
            value = float(y.strip())
        except ValueError:
            return None
        return value if math.isfinite(value) else None

    def scorer(self, y, z, a):
        value = self._process(y)
        return 1.0 if value is not None and math.isclose(value, a, rel_tol=0.1) else 0.0
