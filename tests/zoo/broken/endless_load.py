# expect: L2.too-slow
# The table at module level never ends.
import random

HAPPY = []
n = 1
while len(HAPPY) < 1000:
    m, seen = n, set()
    while m != 1 and m not in seen:
        seen.add(m)
        m = sum(int(c) ** 2 for c in str(m))
    if m == 1:
        HAPPY.append(n)
    # forgot: n += 1
    HAPPY = HAPPY[:900]


class HappyNumber(VerifiableEnvironment):
    prompt_template = "Which is the {k}-th happy number?"

    def _generate(self, seed, difficulty):
        k = random.Random(seed).randint(2, 50 * (difficulty + 1))
        return {"k": k}, HAPPY[k - 1]

    def _prompt_generate(self, z):
        return self.prompt_template.format(k=z["k"])

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
