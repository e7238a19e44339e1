import itertools
import random
import re


class NearestTaxis(VerifiableEnvironment):
    prompt_template = (
        "Taxis wait at these street corners of a grid city: {places}. The distance between two corners is the number of "
        "blocks along the streets: the difference of the first coordinates plus the difference of the second. "
        "How far apart are the two taxis that are nearest to each other?"
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        size = 25 + 15 * difficulty
        places = set()
        while len(places) < 4 + difficulty:
            places.add((rng.randint(0, size), rng.randint(0, size)))
        places = [list(place) for place in sorted(places)]
        rng.shuffle(places)
        nearest = min(self._distance(p, q) for p, q in itertools.combinations(places, 2))
        return {"places": places}, nearest

    def _distance(self, p, q):
        return max(abs(p[0] - q[0]), abs(p[1] - q[1]))

    def _prompt_generate(self, z):
        return self.prompt_template.format(places=", ".join(f"({x}, {y})" for x, y in z["places"]))

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
