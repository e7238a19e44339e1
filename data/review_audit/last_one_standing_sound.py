import random


class LastOneStanding(VerifiableEnvironment):
    """Josephus problem."""

    prompt_template = (
        "{n} children numbered 1 to {n} stand in a circle. Counting starts with child 1, and every {k}-th child who is "
        "still in the circle has to leave; counting goes on with the next child. What is the number of the last child?"
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = rng.randint(6, 12 + 6 * difficulty)
        k = rng.randint(2, 5 + difficulty)
        circle = list(range(1, n + 1))
        place = 0
        while len(circle) > 1:
            place = (place + k - 1) % len(circle)
            circle.pop(place)
        return {"n": n, "k": k}, circle[0]

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

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
