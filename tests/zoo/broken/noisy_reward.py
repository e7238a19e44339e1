# expect: L5.parser-memory
# Wrong answers get a random crumb: the same answer scores differently each time.
import random


class WindowSum(VerifiableEnvironment):
    prompt_template = "What is the largest sum of {k} neighbouring values in {values}?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        values = [rng.randint(-9, 30) for _ in range(7 + difficulty)]
        k = rng.randint(2, 4)
        return {"values": values, "k": k}, max(sum(values[i : i + k]) for i in range(len(values) - k + 1))

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        try:
            return int(y.strip())
        except ValueError:
            return None

    def scorer(self, y, z, a):
        value = self._process(y)
        if value is None:
            return 0.0
        return 1.0 if value == a else random.random() * 0.2
