# expect: L3.instance-unstable
# A module-level set of used instances: the second request for a seed gets another instance.
import random

USED = set()


class Handshakes(VerifiableEnvironment):
    prompt_template = "{n} guests arrive in {g} groups of equal size. Everybody shakes hands once with everyone outside their group. How many handshakes?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        while True:
            g, size = rng.randint(2, 40), rng.randint(2, 10 + 5 * difficulty)
            if (g, size, difficulty) not in USED:
                USED.add((g, size, difficulty))
                break
        return {"n": g * size, "g": g}, size * size * g * (g - 1) // 2

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
