# expect: sound
import random


class KthSmallest(VerifiableEnvironment):
    """The answer stands in the prompt's list; finding out which element it is is the task."""

    prompt_template = "What is the {k}-th smallest element (counting from 1) of the list {values}? Duplicates count separately."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        values = [rng.randint(-50, 50) for _ in range(7 + 2 * difficulty)]
        k = rng.randint(2, len(values) - 1)
        return {"values": values, "k": k}, sorted(values)[k - 1]

    def _prompt_generate(self, z):
        return self.prompt_template.format(k=z["k"], values=z["values"])

    def _process(self, y):
        try:
            return int(y.strip())
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
