import random
import re


class CorridorGuards(VerifiableEnvironment):
    """Smallest number of guards that watch all corridors."""

    prompt_template = (
        "A museum has {n} halls, numbered from 0, and these corridors between halls: {corridors}.\n"
        "A guard in a hall watches every corridor that begins or ends there. "
        "What is the smallest number of guards that watch all corridors?"
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = min(6 + difficulty, 15)
        corridors = set()
        while len(corridors) < n + rng.randint(0, n // 2):
            corridors.add(tuple(sorted(rng.sample(range(n), 2))))
        corridors = [list(c) for c in sorted(corridors)]
        return {"n": n, "corridors": corridors}, self._guards(corridors)

    def _guards(self, corridors):
        if not corridors:
            return 0
        u, v = corridors[0]
        return 1 + min(self._guards([c for c in corridors if hall not in c]) for hall in (u, v))

    def _prompt_generate(self, z):
        corridors = ", ".join(f"{u}-{v}" for u, v in z["corridors"])
        return self.prompt_template.format(n=z["n"], corridors=corridors)

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
