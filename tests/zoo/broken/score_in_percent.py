# expect: L2.score-range
# Scores run from 0 to 100.
import random


class SequenceSum(VerifiableEnvironment):
    prompt_template = "Write the running products modulo 10 of {values}, separated by spaces."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        values = [rng.choice((1, 2, 3, 4, 6, 7, 8, 9)) for _ in range(4 + difficulty)]
        out, product = [], 1
        for v in values:
            product = product * v % 10
            out.append(product)
        return {"values": values}, out

    def _prompt_generate(self, z):
        return self.prompt_template.format(values=z["values"])

    def _process(self, y):
        tokens = y.split()
        return [int(t) for t in tokens] if tokens and all(t.isdigit() for t in tokens) else None

    def scorer(self, y, z, a):
        got = self._process(y)
        if got is None or len(got) != len(a):
            return 0
        return 100 * sum(g == e for g, e in zip(got, a)) / len(a)
