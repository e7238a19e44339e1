# expect: L5.perturbed-accepted
# Answers are rounded to the nearest ten before they are compared.
import random


class Candles(VerifiableEnvironment):
    prompt_template = "Boxes hold {boxes} candles; {broken} of all candles are broken. How many whole candles are there?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        boxes = [rng.randint(12, 60) for _ in range(2 + difficulty)]
        broken = rng.randint(1, 11)
        return {"boxes": boxes, "broken": broken}, sum(boxes) - broken

    def _prompt_generate(self, z):
        return self.prompt_template.format(boxes=z["boxes"], broken=z["broken"])

    def _process(self, y):
        try:
            return int(y.strip())
        except ValueError:
            return None

    def scorer(self, y, z, a):
        value = self._process(y)
        return 1.0 if value is not None and round(value, -1) == round(a, -1) else 0.0
