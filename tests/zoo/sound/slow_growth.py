# expect: sound
import random
import re


class NestedArithmetic(VerifiableEnvironment):
    """The depth grows by one every three levels; the parser takes the last integer of the text."""

    prompt_template = "Evaluate the expression: {expression}"

    def _build(self, rng, depth):
        if depth == 0:
            n = rng.randint(1, 20)
            return str(n), n
        left, x = self._build(rng, depth - 1)
        right, y = self._build(rng, rng.randint(0, depth - 1))
        op = rng.choice("+-*")
        value = x + y if op == "+" else x - y if op == "-" else x * y
        return f"({left} {op} {right})", value

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        expression, value = self._build(rng, 2 + difficulty // 3)
        return {"expression": expression}, value

    def _prompt_generate(self, z):
        return self.prompt_template.format(expression=z["expression"])

    def _process(self, y):
        numbers = re.findall(r"-?[0-9]+", y[-2000:])
        return int(numbers[-1]) if numbers else None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
