# expect: L5.scorer-raises
# isdigit() is true for a superscript two, int() is not amused.
import random


class CubeVolume(VerifiableEnvironment):
    prompt_template = "A box of {a} x {b} x {c} is filled with unit cubes, and its outermost layer is removed. How many cubes are left?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        a, b, c = (rng.randint(3, 8 + difficulty) for _ in range(3))
        return {"a": a, "b": b, "c": c}, (a - 2) * (b - 2) * (c - 2)

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        y = y.strip()
        if y.isdigit():
            return int(y)
        return None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
