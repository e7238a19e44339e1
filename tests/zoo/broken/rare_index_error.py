# expect: L2.rare-crash
# randint includes its upper end: one index in twenty points behind the list.
import random


class PointerChase(VerifiableEnvironment):
    prompt_template = "Next pointers: {next}. Start at {start} and follow the pointers {steps} times. Where do you arrive?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = 20
        nxt = rng.sample(range(n), n)
        start, steps = rng.randint(0, n), 2 + difficulty
        at = start
        for _ in range(steps):
            at = nxt[at]
        return {"next": nxt, "start": start, "steps": steps}, at

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
