# expect: sound
import random
import re


class LinearSystem(VerifiableEnvironment):
    """The reference is a dict; the prompt asks for 'x=3, y=4'."""

    prompt_template = "Solve for the integers x and y:\n{eq1}\n{eq2}\nAnswer in the form x=3, y=4."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        bound = 5 + 5 * difficulty
        x, y = rng.randint(-bound, bound), rng.randint(-bound, bound)
        while True:
            a, b, c, d = (rng.randint(2, 9 + difficulty) * rng.choice((1, -1)) for _ in range(4))
            if a * d != b * c:
                break
        return {"rows": [(a, b, a * x + b * y), (c, d, c * x + d * y)]}, {"x": x, "y": y}

    def _prompt_generate(self, z):
        eq1, eq2 = (f"{a}x {'+' if b > 0 else '-'} {abs(b)}y = {r}" for a, b, r in z["rows"])
        return self.prompt_template.format(eq1=eq1, eq2=eq2)

    def _process(self, y):
        match = re.fullmatch(r"\s*x\s*=\s*(-?\d{1,6})\s*,\s*y\s*=\s*(-?\d{1,6})\s*", y)
        return {"x": int(match.group(1)), "y": int(match.group(2))} if match else None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
