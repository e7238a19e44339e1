# expect: sound
import random


class LevelOut(VerifiableEnvironment):
    """Lists in which repeating one element is often nearly right; graded by position."""

    prompt_template = "Replace each value of {values} by the median of itself and its neighbours (at the ends: by the smaller of the two values). Write the new list, separated by spaces."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        v = [rng.randint(1, 4) for _ in range(6 + difficulty)]
        out = [min(v[:2])] + [sorted(v[i - 1 : i + 2])[1] for i in range(1, len(v) - 1)] + [min(v[-2:])]
        return {"values": v}, out

    def _prompt_generate(self, z):
        return self.prompt_template.format(values=z["values"])

    def _process(self, y):
        try:
            return [int(t) for t in y.split()] or None
        except ValueError:
            return None

    def scorer(self, y, z, a):
        got = self._process(y)
        if got is None or len(got) != len(a):
            return 0.0
        return sum(g == w for g, w in zip(got, a)) / len(a)
