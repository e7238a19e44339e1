# expect: L1.missing-method
# One indentation too many: scorer became a local function of _process.
import random


class LeapDays(VerifiableEnvironment):
    prompt_template = "How many leap years are there from {lo} to {hi}, both included (Gregorian calendar)?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        lo = rng.randint(1600, 1900)
        hi = lo + rng.randint(10, 40 * (difficulty + 1))
        leap = sum(y % 4 == 0 and (y % 100 != 0 or y % 400 == 0) for y in range(lo, hi + 1))
        return {"lo": lo, "hi": hi}, leap

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        try:
            return int(y.strip())
        except ValueError:
            return None

        def scorer(self, y, z, a):
            return 1.0 if self._process(y) == a else 0.0
