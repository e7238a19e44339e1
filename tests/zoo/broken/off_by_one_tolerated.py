# expect: L5.perturbed-accepted
# "Close enough": an absolute tolerance of 1 on an integer answer.
import random


class PaintCans(VerifiableEnvironment):
    prompt_template = "A wall is {w} metres wide and {h} metres high with a door of {d} square metres. How many square metres are to be painted?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        w, h, d = rng.randint(3, 12 + 4 * difficulty), rng.randint(2, 9), rng.randint(1, 5)
        return {"w": w, "h": h, "d": d}, w * h - d

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        try:
            return int(y.strip())
        except ValueError:
            return None

    def scorer(self, y, z, a):
        value = self._process(y)
        return 1.0 if value is not None and abs(value - a) <= 1 else 0.0
