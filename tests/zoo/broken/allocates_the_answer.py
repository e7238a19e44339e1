# expect: L5.scorer-died
# A list as long as the number that the solver wrote.
import random


class SeatNumber(VerifiableEnvironment):
    prompt_template = "Seats are numbered row by row from 1, {w} seats per row. Which number has seat {s} of row {r} (rows and seats count from 1)?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        w = rng.randint(8, 30)
        r, s = rng.randint(2, 10 + 5 * difficulty), rng.randint(1, w)
        return {"w": w, "r": r, "s": s}, (r - 1) * w + s

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        try:
            return int(y.strip())
        except ValueError:
            return None

    def scorer(self, y, z, a):
        number = self._process(y)
        if number is None or number < 1:
            return 0.0
        hall = bytearray(min(number, 10**12))
        hall[number - 1] = 1
        return 1.0 if number == a and hall.index(1) == (z["r"] - 1) * z["w"] + z["s"] - 1 else 0.0
