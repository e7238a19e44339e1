# expect: L5.perturbed-accepted
# zip stops at the shorter list: answers that are too short or too long pass.
import random


class PrefixSums(VerifiableEnvironment):
    prompt_template = "Write the prefix sums of {values}, separated by spaces."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        values = [rng.randint(-9, 20) for _ in range(4 + difficulty)]
        return {"values": values}, [sum(values[: i + 1]) for i in range(len(values))]

    def _prompt_generate(self, z):
        return self.prompt_template.format(values=z["values"])

    def _process(self, y):
        try:
            return [int(t) for t in y.split()] or None
        except ValueError:
            return None

    def scorer(self, y, z, a):
        got = self._process(y)
        if got is None:
            return 0.0
        return 1.0 if all(g == e for g, e in zip(got, a)) else 0.0
