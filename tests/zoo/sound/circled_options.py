# expect: sound
# The options are ① to ④, which are digits to str.isdigit and no numbers to int.
import random


class LargestRemainder(VerifiableEnvironment):
    prompt_template = (
        "Which of these numbers leaves the largest remainder when divided by {m}?\n{options}\nAnswer with ①, ②, ③ or ④."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        m = rng.randint(7, 12 + 3 * difficulty)
        remainders = rng.sample(range(m), 4)
        numbers = [m * rng.randint(4, 20 * (difficulty + 1)) + r for r in remainders]
        return {"m": m, "numbers": numbers}, "①②③④"[remainders.index(max(remainders))]

    def _prompt_generate(self, z):
        options = "\n".join(f"{sign} {number}" for sign, number in zip("①②③④", z["numbers"]))
        return self.prompt_template.format(m=z["m"], options=options)

    def _process(self, y):
        sign = y.strip()
        return sign if sign in ("①", "②", "③", "④") else None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
