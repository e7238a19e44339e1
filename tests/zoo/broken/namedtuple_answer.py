# expect: L2.not-serialisable
# Named tuples come back from storage as plain ones.
import random
from collections import namedtuple

Point = namedtuple("Point", "x y")


class Reflection(VerifiableEnvironment):
    prompt_template = "Reflect the point ({x}, {y}) in the vertical line x = {c}. Answer with the two coordinates x y."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        bound = 10 * (difficulty + 1)
        p, c = Point(rng.randint(-bound, bound), rng.randint(-bound, bound)), rng.randint(-bound, bound)
        return {"p": p, "c": c}, Point(2 * c - p.x, p.y)

    def _prompt_generate(self, z):
        return self.prompt_template.format(x=z["p"].x, y=z["p"].y, c=z["c"])

    def _process(self, y):
        try:
            x, y = map(int, y.split())
        except ValueError:
            return None
        return Point(x, y)

    def scorer(self, y, z, a):
        p = self._process(y)
        return 1.0 if p and p.x == a.x and p.y == a.y else 0.0
