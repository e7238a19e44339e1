# expect: sound
import random


class Recurrence(VerifiableEnvironment):
    """At level 0 there are only four instances; the later levels have many."""

    prompt_template = "Let f(0) = {start} and f(n) = {a}*f(n-1) + {b}. What is f({n})?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        a, b = rng.randint(2, 3 + difficulty), rng.randint(1, 2 + difficulty)
        start, n = 1 + rng.randint(0, 2 * difficulty), 3 + difficulty // 2
        value = start
        for _ in range(n):
            value = a * value + b
        return {"a": a, "b": b, "start": start, "n": n}, value

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        text = y.strip()
        return int(text) if text.isascii() and text.isdigit() and len(text) < 40 else None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
