# expect: L5.consolation
# Every number earns 0.2 for "trying".
import random


class FlowerBeds(VerifiableEnvironment):
    prompt_template = "A garden has {beds} beds with {rows} rows of {n} tulips each; {gone} tulips were eaten. How many are left?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        beds, rows, n = rng.randint(2, 5 + difficulty), rng.randint(2, 6), rng.randint(3, 12)
        gone = rng.randint(1, beds * rows)
        return {"beds": beds, "rows": rows, "n": n, "gone": gone}, beds * rows * n - gone

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
            return 0.0
        return 1.0 if value == a else 0.2
