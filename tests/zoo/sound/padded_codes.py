# expect: sound
import random


class ScrambledCode(VerifiableEnvironment):
    """Codes with leading zeros: the answer is text, not a number."""

    prompt_template = "Write the code {n} backwards, with {k} added to each digit (9 is followed by 0). Keep leading zeros."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = "".join(rng.choice("0123456789") for _ in range(4 + difficulty))
        k = rng.randint(1, 9)
        return {"n": n, "k": k}, "".join(str((int(c) + k) % 10) for c in reversed(n))

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        text = y.strip()
        return text if text.isascii() and text.isdigit() else None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
