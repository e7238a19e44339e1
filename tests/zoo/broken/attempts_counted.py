# expect: L5.parser-memory
# Each call lowers the reward, as if the solver had several tries.
import random


class SafeCracker(VerifiableEnvironment):
    prompt_template = "A safe opens with the digits of {n} written backwards, each increased by {k} (9 is followed by 0). Which code opens it?"

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.attempts = 0

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = "".join(rng.choice("0123456789") for _ in range(4 + difficulty))
        k = rng.randint(1, 9)
        return {"n": n, "k": k}, "".join(str((int(c) + k) % 10) for c in n[::-1])

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        y = y.strip()
        return y if y.isascii() and y.isdigit() else None

    def scorer(self, y, z, a):
        self.attempts += 1
        if self._process(y) != a:
            return 0.0
        return 1.0 / self.attempts
