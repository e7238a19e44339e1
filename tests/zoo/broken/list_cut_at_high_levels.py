# expect: L4.hidden-latent
# The same fault, but lists are short enough to be shown in full until level 5.
import random


class LateShortening(VerifiableEnvironment):
    prompt_template = "Distances between the stations: {shown}. How long is the longest run of growing distances?"

    def _generate(self, seed, difficulty):
        rng = random.Random(f"{seed}/{difficulty}")
        steps = [rng.randint(1, 30) for _ in range(6 + 3 * difficulty)]
        best = run = 1
        for a, b in zip(steps, steps[1:]):
            run = run + 1 if b > a else 1
            best = max(best, run)
        return {"steps": steps}, best * 100 + steps[-1]

    def _prompt_generate(self, z):
        text = ", ".join(map(str, z["steps"][:22]))
        return self.prompt_template.format(shown=text + ("..." if len(z["steps"]) > 22 else ""))

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
