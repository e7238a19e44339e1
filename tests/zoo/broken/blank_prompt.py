# expect: L2.empty-prompt
# The template was never filled in: the prompt is empty.
import random


class Staircase(VerifiableEnvironment):
    prompt_template = ""

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        steps = [rng.randint(10, 30) for _ in range(3 + difficulty)]
        return {"steps": steps}, sum(steps) - min(steps)

    def _prompt_generate(self, z):
        return self.prompt_template.format(steps=z["steps"])

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
