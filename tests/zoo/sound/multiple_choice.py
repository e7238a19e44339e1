# expect: sound
import random


class RemainderChoice(VerifiableEnvironment):
    """Four options, one letter."""

    prompt_template = "Which of these numbers leaves the remainder {r} when divided by {m}?\n{options}\nAnswer with one letter."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        m = rng.randint(5, 12 + 3 * difficulty)
        r = rng.randrange(1, m)
        numbers = []
        while len(numbers) < 3:
            n = rng.randint(50, 200 * (difficulty + 1))
            if n % m != r and n not in numbers:
                numbers.append(n)
        place = rng.randrange(4)
        numbers.insert(place, m * rng.randint(50 // m + 1, 200 * (difficulty + 1) // m) + r)
        return {"m": m, "r": r, "numbers": numbers}, "ABCD"[place]

    def _prompt_generate(self, z):
        options = "\n".join(f"{letter}) {n}" for letter, n in zip("ABCD", z["numbers"]))
        return self.prompt_template.format(r=z["r"], m=z["m"], options=options)

    def _process(self, y):
        letter = y.strip().strip("().").upper()
        return letter if letter in ("A", "B", "C", "D") else None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
