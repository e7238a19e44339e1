# expect: sound
import random

VALUES = [(1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"),
          (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")]


def to_roman(n):
    out = ""
    for value, letters in VALUES:
        while n >= value:
            out += letters
            n -= value
    return out


class RomanSum(VerifiableEnvironment):
    prompt_template = "Add the Roman numerals {terms}. Write the sum as a Roman numeral in capital letters."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        top = min(300, 20 + 30 * difficulty)
        terms = [rng.randint(2, top) for _ in range(2 + difficulty // 2)]
        return {"terms": terms}, to_roman(sum(terms))

    def _prompt_generate(self, z):
        return self.prompt_template.format(terms=" + ".join(to_roman(t) for t in z["terms"]))

    def _process(self, y):
        text = y.strip().upper()
        return text if text and set(text) <= set("IVXLCDM") else None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
