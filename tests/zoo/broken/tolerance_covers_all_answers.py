# expect: L5.tolerance
# A relative tolerance, while all answers lie within a thousandth of each other.
import random


class ToleranceCoversAllAnswers(VerifiableEnvironment):
    prompt_template = (
        "A bar of 1000 millimetres grows by {a} hundredths of a millimetre and then by {b} more, and shrinks by {c}. "
        "How long is it now, in millimetres with two decimals?"
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        z = {name: rng.randint(1, 9 + 2 * difficulty) for name in "abc"}
        return z, round(1000 + (z["a"] + z["b"] - z["c"]) / 100, 2)

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        try:
            return float(y) if len(y) < 30 else None
        except ValueError:
            return None

    def scorer(self, y, z, a):
        number = self._process(y)
        return 1.0 if number is not None and abs(number - a) <= 1e-4 * abs(a) else 0.0
