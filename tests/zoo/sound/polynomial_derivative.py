# expect: sound
import random
import re


def show(coefficients):
    """Highest power first; coefficients[i] belongs to x^i."""
    parts = []
    for power in range(len(coefficients) - 1, -1, -1):
        c = coefficients[power]
        if c == 0:
            continue
        x = "" if power == 0 else "x" if power == 1 else f"x^{power}"
        size = str(abs(c)) if abs(c) != 1 or not x else ""
        parts.append(("- " if c < 0 else "+ ") + size + x)
    if not parts:
        return "0"
    text = " ".join(parts)
    return text[2:] if text.startswith("+ ") else "-" + text[2:]


class PolynomialDerivative(VerifiableEnvironment):
    prompt_template = "Differentiate p(x) = {p}.\nWrite p'(x) from the highest power down, for example 3x^2 - x + 4."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        degree = 3 + difficulty
        p = [rng.randint(-9, 9) for _ in range(degree)] + [rng.choice((-3, -2, 2, 3, 4, 5))]
        return {"p": p}, show([i * c for i, c in enumerate(p)][1:])

    def _prompt_generate(self, z):
        return self.prompt_template.format(p=show(z["p"]))

    def _process(self, y):
        text = re.sub(r"[\s*]", "", y).lower()
        if not text or len(text) > 2000 or not re.fullmatch(r"[0-9x^+-]+", text):
            return None
        terms = {}
        for sign, size, x, power in re.findall(r"([+-]?)(\d*)(x?)(?:\^(\d+))?", text):
            if not size and not x:
                continue
            exponent = int(power) if power else 1 if x else 0
            value = int(size or 1) * (-1 if sign == "-" else 1)
            if exponent in terms:
                return None
            terms[exponent] = value
        return {k: v for k, v in terms.items() if v}

    def scorer(self, y, z, a):
        parsed = self._process(y)
        return 1.0 if parsed is not None and show(self._dense(parsed)) == a and parsed == self._process(a) else 0.0

    def _dense(self, terms):
        top = max(terms, default=0)
        return [terms.get(i, 0) for i in range(top + 1)] if top < 1000 else []
