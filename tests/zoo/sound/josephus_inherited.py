# expect: sound
import random


class IntegerTask(VerifiableEnvironment):
    """Shared by tasks whose answer is one integer."""

    limit = 12

    def _process(self, y):
        y = y.strip()
        digits = y[1:] if y[:1] == "-" else y
        if not digits.isascii() or not digits.isdigit() or len(digits) > self.limit:
            return None
        return int(y)

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0


class Josephus(IntegerTask):
    prompt_template = (
        "{n} people numbered 1 to {n} stand in a circle. Counting starts at person {s}, and every {k}-th person leaves "
        "the circle (counting goes on with the next person) until one is left. What is that person's number?"
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = rng.randint(6, 10 + 4 * difficulty)
        k, s = rng.randint(2, 6 + difficulty), rng.randint(1, n)
        circle, at = list(range(1, n + 1)), s - 1
        while len(circle) > 1:
            at = (at + k - 1) % len(circle)
            circle.pop(at)
        return {"n": n, "k": k, "s": s}, circle[0]

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)
