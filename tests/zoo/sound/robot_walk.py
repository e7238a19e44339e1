# expect: sound
import random
import re

TURNS = {"L": 1, "R": -1}
STEPS = ((1, 0), (0, 1), (-1, 0), (0, -1))


class RobotWalk(VerifiableEnvironment):
    """A coordinate pair as a tuple."""

    prompt_template = (
        "A robot at (0, 0) looks along the positive x axis. It executes: {program}. "
        "L and R turn it by 90 degrees to the left and right, a number moves it that far forward. "
        "Where does it end? Answer in the form (x, y)."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        program, x, y, way = [], 0, 0, 0
        for _ in range(3 + difficulty):
            turn, distance = rng.choice("LR"), rng.randint(1, 9)
            program += [turn, distance]
            way = (way + TURNS[turn]) % 4
            x, y = x + STEPS[way][0] * distance, y + STEPS[way][1] * distance
        return {"program": program}, (x, y)

    def _prompt_generate(self, z):
        return self.prompt_template.format(program=" ".join(map(str, z["program"])))

    def _process(self, y):
        match = re.fullmatch(r"\s*\(?\s*(-?\d{1,6})\s*,\s*(-?\d{1,6})\s*\)?\s*", y)
        return (int(match.group(1)), int(match.group(2))) if match else None

    def scorer(self, y, z, a):
        return float(self._process(y) == tuple(a))
