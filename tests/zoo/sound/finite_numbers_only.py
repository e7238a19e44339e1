# expect: sound
# The twin of nan_is_no_difference: only finite numbers are numbers.
import math
import random


class FiniteNumbersOnly(VerifiableEnvironment):
    prompt_template = (
        "A circle has the diameter from ({x1}, {y1}) to ({x2}, {y2}). Give the coordinates of its centre and the square "
        "of its radius as three numbers, separated by spaces."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        span = 10 + 10 * difficulty
        x1, y1, dx, dy = (rng.randint(-span, span) for _ in range(4))
        z = {"x1": x1, "y1": y1, "x2": x1 + 2 * dx + 2, "y2": y1 + 2 * dy}
        return z, [x1 + dx + 1, y1 + dy, (dx + 1) ** 2 + dy**2]

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        try:
            numbers = [float(part) for part in y.split()]
        except ValueError:
            return None
        return numbers if len(numbers) == 3 and all(math.isfinite(part) for part in numbers) else None

    def scorer(self, y, z, a):
        numbers = self._process(y)
        if numbers is None:
            return 0.0
        return 0.0 if any(abs(given - right) > 1e-9 for given, right in zip(numbers, a)) else 1.0
