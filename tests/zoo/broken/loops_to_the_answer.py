# expect: L5.scorer-slow
# The scorer counts up to the number that the solver wrote.
import random


class NextMultiple(VerifiableEnvironment):
    prompt_template = "Which is the smallest number greater than {n} that is divisible by {a} and by {b}?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        a, b = rng.randint(3, 12 + difficulty), rng.randint(3, 12 + difficulty)
        n = rng.randint(10, 200)
        value = n + 1
        while value % a or value % b:
            value += 1
        return {"n": n, "a": a, "b": b}, value

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        try:
            return int(y.strip())
        except ValueError:
            return None

    def scorer(self, y, z, a):
        value = self._process(y)
        if value is None or value <= z["n"]:
            return 0.0
        hits = 0
        for m in range(z["n"] + 1, value + 1):
            hits += m % z["a"] == 0 and m % z["b"] == 0
        return 1.0 if hits == 1 and value % z["a"] == 0 and value % z["b"] == 0 else 0.0
