# expect: sound
# Compares formulas by their values: x*x*6 is 6*x*x, which is the reference backwards.
import random


class FormulasByValue(VerifiableEnvironment):
    prompt_template = (
        "What is the derivative of {formula} with respect to x? Write a formula of x, whole numbers, + and *, without "
        "powers and brackets."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        cube, square = rng.randint(1, 3 + 9 * difficulty), rng.randint(0, 1) * rng.randint(1, 9 + 20 * difficulty)
        z = {"cube": cube, "square": square, "constant": rng.randint(1, 999)}
        return z, f"{3 * cube}*x*x" + (f" + {2 * square}*x" if square else "")

    def _prompt_generate(self, z):
        square = f" + {z['square']}*x*x" if z["square"] else ""
        return self.prompt_template.format(formula=f"{z['cube']}*x*x*x{square} + {z['constant']}")

    def _process(self, y):
        coefficients = [0, 0, 0]
        for term in y.split("+"):
            factors = [factor.strip() for factor in term.split("*")]
            numbers = [factor for factor in factors if factor != "x"]
            power = len(factors) - len(numbers)
            if power > 2 or any(not n.isascii() or not n.isdigit() or len(n) > 9 for n in numbers) or len(factors) > 5:
                return None
            product = 1
            for number in numbers:
                product *= int(number)
            coefficients[power] += product
        return coefficients

    def scorer(self, y, z, a):
        given = self._process(y)
        return 1.0 if given is not None and given == self._process(a) else 0.0
