# expect: L4.hidden-latent
# A helper turns the level into size and step; the step is used by the oracle and never mentioned.
import random


class EveryKth(VerifiableEnvironment):
    prompt_template = "From the list {values} take every k-th element, starting with the first. What is their sum?"

    def _knobs(self, difficulty):
        return {"size": 12 + 2 * difficulty, "step": 2 + difficulty % 5}

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        knobs = self._knobs(difficulty)
        values = [rng.randint(1, 50) for _ in range(knobs["size"])]
        return {"values": values}, sum(values[:: knobs["step"]])

    def _prompt_generate(self, z):
        return self.prompt_template.format(values=z["values"])

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
