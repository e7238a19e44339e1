import random


class MatrixProductCost(VerifiableEnvironment):
    """Cheapest order of a chain of matrix products."""

    prompt_template = (
        "Multiplying a p by q matrix with a q by r matrix costs p*q*r. The matrices {matrices} are to be multiplied in "
        "this order; parentheses may be set freely. What is the lowest total cost?"
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        sizes = [rng.randint(2, 9 + 2 * difficulty) for _ in range(4 + difficulty)]
        return {"sizes": sizes}, self._cost(sizes)

    def _cost(self, sizes):
        count = len(sizes) - 1
        best = [[0] * count for _ in range(count)]
        for length in range(2, count + 1):
            for i in range(count - length + 1):
                j = i + length - 1
                best[i][j] = min(
                    best[i][k] + best[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1] for k in range(i, j)
                )
        return best[0][count - 1]

    def _prompt_generate(self, z):
        sizes = z["sizes"]
        matrices = ", ".join(f"{p}x{q}" for p, q in zip(sizes, sizes[1:]))
        return self.prompt_template.format(matrices=matrices)

    def _process(self, y):
        try:
            return int(y.strip())
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
