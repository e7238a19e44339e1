# expect: L5.score-range
# Wrong answers cost a point.
import random


class OddOneOut(VerifiableEnvironment):
    prompt_template = "All but one of the numbers {numbers} leave the same remainder modulo {m}. Which number is different?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        m = rng.randint(3, 9)
        r = rng.randrange(m)
        numbers = [m * k + r for k in rng.sample(range(1, 60), 4 + difficulty)]
        odd = m * rng.randint(1, 60) + (r + rng.randint(1, m - 1)) % m
        numbers.insert(rng.randint(0, len(numbers)), odd)
        return {"numbers": numbers, "m": m}, odd

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
        return 1.0 if value == a else -1.0
