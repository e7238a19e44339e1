import random
import re


class Sorting(VerifiableEnvironment):
    """Sort distinct integers. Knobs: how many, and how large. Scorer: element-wise."""

    prompt_template = (
        "Sort these {n} integers in ascending order, smallest first.\n\n"
        "Integers: {numbers}\n\n"
        "Give all {n} integers on one line, separated by spaces."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = 3 + 4 * difficulty
        z = rng.sample(range(10 * (difficulty + 1) ** 2), n)
        a = sorted(z)
        if z == a:  # nothing to do would be no task
            z.reverse()
        return z, a

    def _prompt_generate(self, z):
        return self.prompt_template.format(n=len(z), numbers=" ".join(map(str, z)))

    def _process(self, y):
        """The integers of the answer, or None if it holds anything but integers."""
        if len(y) > 50_000:
            return None
        tokens = y.replace(",", " ").split()
        if not tokens or not all(re.fullmatch(r"[0-9]{1,12}", token) for token in tokens):
            return None
        return [int(token) for token in tokens]

    def scorer(self, y, z, a):
        """The share of positions that are right; an answer of the wrong length earns nothing."""
        numbers = self._process(y)
        if numbers is None or len(numbers) != len(a):
            return 0.0
        return sum(mine == true for mine, true in zip(numbers, a)) / len(a)
