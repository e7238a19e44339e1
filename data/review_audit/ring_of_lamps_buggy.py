import random
import re


class RingOfLamps(VerifiableEnvironment):
    prompt_template = (
        "{n} lamps stand in a circle; lamp {n} is next to lamp 1. Their brightnesses, in order, are {values}. "
        "Two neighbouring lamps must not both be switched on. What is the greatest total brightness?"
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        values = [rng.randint(1, 20 + 10 * difficulty) for _ in range(4 + 2 * difficulty)]
        return {"values": values}, self._best_row(values)

    def _best_row(self, row):
        with_last, without_last = 0, 0
        for value in row:
            with_last, without_last = without_last + value, max(with_last, without_last)
        return max(with_last, without_last)

    def _prompt_generate(self, z):
        return self.prompt_template.format(n=len(z["values"]), values=", ".join(map(str, z["values"])))

    def _process(self, y):
        match = re.fullmatch(r"\s*(-?\d{1,30})\s*", y)
        if match is None:
            return None
        return int(match.group(1))

    def scorer(self, y, z, a):
        value = self._process(y)
        if value is None:
            return 0.0
        return float(value == a)
