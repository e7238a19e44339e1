# expect: L5.reference-rejected
# scorer parses what was parsed already, so that every right answer fails.
import random


class SplitTheBill(VerifiableEnvironment):
    prompt_template = "{n} friends share a bill of {total} euros and a tip of {tip} euros. How many euros does each pay?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n, each, tip = rng.randint(2, 9), rng.randint(5, 30 * (difficulty + 1)), rng.randint(1, 9)
        return {"n": n, "total": n * each - tip, "tip": tip}, each

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        if not isinstance(y, str):
            return None
        try:
            return int(y.strip())
        except ValueError:
            return None

    def scorer(self, y, z, a):
        parsed = self._process(y)
        return 1.0 if self._process(parsed) == a else 0.0
