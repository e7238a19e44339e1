# expect: sound
import random


class ChineseRemainder(VerifiableEnvironment):
    """Infinitely many answers, each checked against the congruences."""

    prompt_template = "Find a positive integer x such that {conditions}. Any such x below one million is right."
    PRIMES = (3, 4, 5, 7, 11, 13)

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        moduli = sorted(rng.sample(self.PRIMES, 2 + min(difficulty // 3, 3)))
        x = rng.randint(10, 900)
        return {"pairs": [(m, x % m) for m in moduli]}, x

    def _prompt_generate(self, z):
        return self.prompt_template.format(conditions=" and ".join(f"x mod {m} = {r}" for m, r in z["pairs"]))

    def _process(self, y):
        text = y.strip()
        return int(text) if text.isascii() and text.isdigit() and len(text) <= 6 else None

    def scorer(self, y, z, a):
        x = self._process(y)
        return 1.0 if x and all(x % m == r for m, r in z["pairs"]) else 0.0
