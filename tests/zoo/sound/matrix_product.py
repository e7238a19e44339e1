# expect: sound
import random


class MatrixProduct(VerifiableEnvironment):
    prompt_template = (
        "Multiply the integer matrices A and B.\nA =\n{a}\nB =\n{b}\n"
        "Write the product A*B one row per line, entries separated by single spaces."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = 2 + difficulty // 2
        a = [[rng.randint(-9, 9) for _ in range(n)] for _ in range(n)]
        b = [[rng.randint(-9, 9) for _ in range(n)] for _ in range(n)]
        product = [[sum(a[i][k] * b[k][j] for k in range(n)) for j in range(n)] for i in range(n)]
        return {"a": a, "b": b}, product

    def _rows(self, matrix):
        return "\n".join(" ".join(map(str, row)) for row in matrix)

    def _prompt_generate(self, z):
        return self.prompt_template.format(a=self._rows(z["a"]), b=self._rows(z["b"]))

    def _process(self, y):
        lines = [line for line in y.strip().splitlines() if line.strip()]
        if not lines or len(lines) > 40:
            return None
        try:
            return [[int(token) for token in line.split()] for line in lines]
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
