import random
import re


class FaultyScale(VerifiableEnvironment):
    prompt_template = (
        "All but one of these weights are multiples of {base}: {weights}. Which weight is the odd one out?"
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        base = rng.choice([7, 9, 11, 13, 17])
        count = 5 + difficulty
        weights = [base * factor for factor in rng.sample(range(6, 16 + 6 * difficulty), count)]
        odd = base * rng.randint(6, 15 + 6 * difficulty) + rng.randint(1, base - 1)
        weights.insert(rng.randrange(count + 1), odd)
        return {"base": base, "weights": weights}, odd

    def _prompt_generate(self, z):
        return self.prompt_template.format(base=z["base"], weights=", ".join(map(str, z["weights"])))

    def _process(self, y):
        match = re.fullmatch(r"\s*(-?\d{1,30})\s*", y)
        if match is None:
            return None
        return int(match.group(1))

    def scorer(self, y, z, a):
        value = self._process(y)
        if value is None:
            return 0.0
        return float(value == a)
