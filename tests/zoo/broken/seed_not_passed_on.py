# expect: L4.constant-prompt
# The helper has a default seed, and the caller forgets to pass the real one.
import random


def random_walk(length, seed=0):
    rng = random.Random(seed)
    return [rng.choice("NESW") for _ in range(length)]


class WalkEnd(VerifiableEnvironment):
    prompt_template = "Someone walks {steps}, one block each. How many blocks is the direct way home (along the streets)?"

    def _generate(self, seed, difficulty):
        steps = random_walk(6 + 2 * difficulty)
        x, y = steps.count("E") - steps.count("W"), steps.count("N") - steps.count("S")
        return {"steps": steps}, abs(x) + abs(y)

    def _prompt_generate(self, z):
        return self.prompt_template.format(steps=" ".join(z["steps"]))

    def _process(self, y):
        try:
            return int(y.strip())
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
