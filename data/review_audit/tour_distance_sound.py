import random


class TourDistance(VerifiableEnvironment):
    prompt_template = (
        "A cyclist rides {legs}. How many metres is that in all?"
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        legs = [[6 * rng.randint(2, 6), rng.randint(3, 30 + 10 * difficulty)] for _ in range(2 + difficulty)]
        metres = 0
        for speed, minutes in legs:
            metres += speed * 1000 * minutes // 60
        return {"legs": legs}, metres

    def _prompt_generate(self, z):
        parts = [f"{minutes} minutes at {speed} km/h" for speed, minutes in z["legs"]]
        return self.prompt_template.format(legs=", then ".join(parts))

    def _process(self, y):
        """The answer as an integer, or None when it is not one."""
        text = y.strip().replace(",", "")
        try:
            return int(text)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        parsed = self._process(y)
        return 1.0 if parsed is not None and parsed == a else 0.0
