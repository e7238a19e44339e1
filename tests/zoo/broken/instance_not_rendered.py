# expect: L4.constant-prompt
# The template has no place for the instance: every prompt asks for "the given list".
import random


class MissingList(VerifiableEnvironment):
    prompt_template = "Sort the given list of integers in ascending order and write it separated by spaces."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        values = [rng.randint(0, 99) for _ in range(4 + difficulty)]
        return {"values": values}, sorted(values)

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        try:
            return [int(t) for t in y.split()] or None
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
