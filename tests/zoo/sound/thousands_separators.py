# expect: sound
import random


class BigBalance(VerifiableEnvironment):
    """Accepts 1,234,567 as well as 1234567."""

    prompt_template = "A company has {start} euros, earns {gain} euros in each of {n} months and spends {cost} euros once. How much does it have?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        top = 10 ** (4 + difficulty // 2)
        z = {"start": rng.randint(1000, top), "gain": rng.randint(100, top), "n": rng.randint(3, 12), "cost": rng.randint(10, 999)}
        return z, z["start"] + z["gain"] * z["n"] - z["cost"]

    def _prompt_generate(self, z):
        return self.prompt_template.format(**{k: f"{v:,}" for k, v in z.items()})

    def _process(self, y):
        text = y.strip().replace(",", "")
        return int(text) if text.isascii() and text.isdigit() and len(text) < 30 else None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
