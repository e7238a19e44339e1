import collections
import random
import re


class OvenRests(VerifiableEnvironment):
    """Bake with rests between loads of the same kind."""

    prompt_template = (
        "A bakery bakes one tray per hour: {trays} (each letter is a kind of bread; the order is free). Between two trays "
        "of the same kind at least {rest} hours must pass in which other kinds are baked or the oven stands still. "
        "After how many hours can all trays be done at the earliest?"
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        kinds = "ABCDEFGH"[: 2 + rng.randint(0, min(5, 1 + difficulty))]
        trays = [rng.choice(kinds) for _ in range(5 + 2 * difficulty)]
        rest = rng.randint(1, 3)
        counts = sorted(collections.Counter(trays).values(), reverse=True)
        frame = (counts[0] - 1) * (rest + 1) + counts.count(counts[0])
        return {"trays": trays, "rest": rest}, max(frame, len(trays))

    def _prompt_generate(self, z):
        return self.prompt_template.format(trays=" ".join(z["trays"]), rest=z["rest"])

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
