# expect: L5.malformed-rewarded
# Whatever cannot be parsed still gets a tenth of a point.
import random


class TicketPrice(VerifiableEnvironment):
    prompt_template = "{adults} adults at {p} euros and {children} children at {q} euros: what do the tickets cost?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        z = {"adults": rng.randint(1, 9), "p": rng.randint(5, 20 + 5 * difficulty), "children": rng.randint(1, 9), "q": rng.randint(2, 9)}
        return z, z["adults"] * z["p"] + z["children"] * z["q"]

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        try:
            return int(y.strip())
        except ValueError:
            return None

    def scorer(self, y, z, a):
        value = self._process(y)
        if value is None:
            return 0.1 if y.strip() else 0.0
        return 1.0 if value == a else 0.0
