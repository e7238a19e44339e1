import random
import re


class RecursiveFunction(VerifiableEnvironment):
    """An Ackermann-like function, kept small by a modulus. Knobs: both arguments. Scorer: exact match."""

    prompt_template = (
        "The function f takes two non-negative integers and is defined by three rules, "
        'where "x mod {q}" is the remainder, from 0 to {last}, of x divided by {q}:\n\n'
        "1. f(0, n) = ({a} * n + {b}) mod {q} for every n >= 0\n"
        "2. f(m, 0) = f(m - 1, {c}) for every m >= 1\n"
        "3. f(m, n) = (f(m - 1, f(m, n - 1)) + n) mod {q} for all m >= 1 and n >= 1\n\n"
        "Compute f({m}, {n}). Give one integer."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        q = rng.randint(5 + difficulty, 9 + 2 * difficulty)
        z = {
            "q": q,
            "a": rng.randint(1, q - 1),
            "b": rng.randint(0, q - 1),
            "c": rng.randint(0, q - 1),
            "m": 1 + difficulty // 3,
            "n": rng.randint(1 + difficulty // 2, 2 + difficulty),
        }
        return z, self._evaluate(**z)

    def _evaluate(self, q, a, b, c, m, n):
        """Tabulate f(0, .), f(1, .), ... row by row: every inner argument is below q, so nothing recurses."""
        row = [(a * k + b) % q for k in range(q)]
        for _ in range(m):
            below, row = row, [row[c]]
            for k in range(1, q):
                row.append((below[row[-1]] + k) % q)
        return row[n]

    def _prompt_generate(self, z):
        return self.prompt_template.format(last=z["q"] - 1, **z)

    def _process(self, y):
        """A non-negative integer, or None."""
        match = re.fullmatch(r"\s*([0-9]{1,18})\s*", y)
        return int(match.group(1)) if match else None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
