import random
import re


class Fibonacci(VerifiableEnvironment):
    """A term of a linear recurrence. Knobs: which term, and the modulus. Scorer: exact match."""

    prompt_template = (
        "A sequence of integers is defined by A[0] = {a0}, A[1] = {a1} and, for every n >= 2,\n\n"
        "A[n] = {p} * A[n-1] + {q} * A[n-2].\n\n"
        "Find the remainder, from 0 to {last}, that A[{n}] leaves when divided by {m}. Give one integer."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        m = rng.randint(6 + 4 * difficulty, 10 + 10 * difficulty**2)
        z = {
            "n": rng.randint(2 + 2 * difficulty, 3 + 3 * difficulty),
            "m": m,
            "p": rng.randint(1, 3 + difficulty),
            "q": rng.randint(1, 3 + difficulty),
            "a0": rng.randint(1, 3 + difficulty),
            "a1": rng.randint(1, 3 + difficulty),
        }
        return z, self._term(**z)

    def _term(self, n, m, p, q, a0, a1):
        """Step through the sequence, keeping two terms modulo m."""
        before, term = a0 % m, a1 % m
        for _ in range(n - 1):
            before, term = term, (p * term + q * before) % m
        return term

    def _prompt_generate(self, z):
        return self.prompt_template.format(last=z["m"] - 1, **z)

    def _process(self, y):
        """A non-negative integer, or None."""
        match = re.fullmatch(r"\s*([0-9]{1,18})\s*", y)
        return int(match.group(1)) if match else None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
