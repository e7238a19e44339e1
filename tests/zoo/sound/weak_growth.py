# expect: sound
import random


class Orchard(VerifiableEnvironment):
    """Levels overlap: only the upper end of one range grows, by one a level."""

    prompt_template = "{n} rows of {k} trees bear {f} fruits each, and birds eat {e} fruits of every row. How many fruits are left?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n, k = rng.randint(2, 9 + difficulty), rng.randint(3, 12)
        f, e = rng.randint(5, 12), rng.randint(1, 5)
        return {"n": n, "k": k, "f": f, "e": e}, n * (k * f - e)

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        text = y.strip()
        return int(text) if text.isascii() and text.isdigit() and len(text) < 12 else None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
