# expect: sound
import math
import random
import re


class FractionSum(VerifiableEnvironment):
    prompt_template = "Add these fractions: {terms}. Write the sum in lowest terms as p/q (with q = 1 for integers)."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        terms = []
        for _ in range(2 + difficulty // 2):
            q = rng.randint(2, 9 + 2 * difficulty)
            terms.append((rng.randint(1, 2 * q), q))
        p, q = 0, 1
        for a, b in terms:
            p, q = p * b + a * q, q * b
        g = math.gcd(p, q)
        return {"terms": terms}, f"{p // g}/{q // g}"

    def _prompt_generate(self, z):
        return self.prompt_template.format(terms=" + ".join(f"{p}/{q}" for p, q in z["terms"]))

    def _process(self, y):
        match = re.fullmatch(r"\s*(-?\d{1,40})\s*/\s*(\d{1,40})\s*", y)
        return (int(match.group(1)), int(match.group(2))) if match else None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == self._process(a) else 0.0
