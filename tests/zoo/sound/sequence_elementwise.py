# expect: sound
import random


class PrefixMaxima(VerifiableEnvironment):
    """Element-wise partial credit: the share of right places, nothing for a wrong length."""

    prompt_template = (
        "For the list {values}, write for each place the largest value up to and including that place minus the "
        "smallest value up to and including that place. Separate the {n} results by spaces."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        values = [rng.randint(0, 99) for _ in range(5 + difficulty)]
        a = [max(values[: i + 1]) - min(values[: i + 1]) for i in range(len(values))]
        return {"values": values}, a

    def _prompt_generate(self, z):
        return self.prompt_template.format(values=z["values"], n=len(z["values"]))

    def _process(self, y):
        try:
            return [int(t) for t in y.replace(",", " ").split()]
        except ValueError:
            return None

    def scorer(self, y, z, a):
        got = self._process(y)
        if got is None or len(got) != len(a):
            return 0.0
        return sum(g == e for g, e in zip(got, a)) / len(a)
