# expect: L1.import
# numpy is not on the list.
import random

import numpy as np


class Determinant(VerifiableEnvironment):
    prompt_template = "Compute the determinant of the matrix {m}."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = 2 + difficulty // 2
        m = [[rng.randint(-5, 5) for _ in range(n)] for _ in range(n)]
        return {"m": m}, int(round(np.linalg.det(np.array(m))))

    def _prompt_generate(self, z):
        return self.prompt_template.format(m=z["m"])

    def _process(self, y):
        try:
            return int(y.strip())
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
