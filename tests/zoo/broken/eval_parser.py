# expect: L1.forbidden-name
# The parser evaluates the answer as Python.
import random


class SetUnion(VerifiableEnvironment):
    prompt_template = "What is the union of {a} and {b}? Answer with a Python list in increasing order."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = 3 + difficulty
        a, b = rng.sample(range(40), n), rng.sample(range(40), n)
        return {"a": a, "b": b}, sorted(set(a) | set(b))

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        try:
            return list(eval(y))
        except Exception:
            return None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
