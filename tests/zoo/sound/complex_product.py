# expect: sound
import random
import re


class ComplexProduct(VerifiableEnvironment):
    prompt_template = "Multiply the complex numbers {factors}. Write the product as a+bi with integers a and b."

    def _show(self, re_, im):
        return f"{re_}{'+' if im >= 0 else '-'}{abs(im)}i"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        factors = [(rng.randint(-9, 9), rng.randint(-9, 9)) for _ in range(2 + difficulty // 2)]
        x, y = 1, 0
        for p, q in factors:
            x, y = x * p - y * q, x * q + y * p
        return {"factors": factors}, self._show(x, y)

    def _prompt_generate(self, z):
        return self.prompt_template.format(factors=", ".join(f"({self._show(p, q)})" for p, q in z["factors"]))

    def _process(self, y):
        match = re.fullmatch(r"([+-]?\d{1,12})([+-]\d{1,12})i", y.replace(" ", "").strip())
        return (int(match.group(1)), int(match.group(2))) if match else None

    def scorer(self, y, z, a):
        value = self._process(y)
        return 1.0 if value is not None and value == self._process(a) else 0.0
