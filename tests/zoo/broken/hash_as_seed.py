# expect: L3.hash-order
# The generator is seeded with hash() of a string, which differs from process to process.
import random


class FenceColours(VerifiableEnvironment):
    prompt_template = "A fence has boards {boards}. How many boards must be repainted so that all have the most frequent colour?"

    def _generate(self, seed, difficulty):
        rng = random.Random(hash(f"fence-{seed}-{difficulty}"))
        boards = "".join(rng.choice("RGBY") for _ in range(8 + 2 * difficulty))
        return {"boards": boards}, len(boards) - max(boards.count(c) for c in "RGBY")

    def _prompt_generate(self, z):
        return self.prompt_template.format(boards=z["boards"])

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
