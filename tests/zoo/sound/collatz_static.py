# expect: sound
import random


class CollatzSteps(VerifiableEnvironment):
    """Static methods, default arguments, a score that is a bool."""

    prompt_template = (
        "Start with {n}. If the number is even, halve it; if it is odd, multiply by {m} and add {c}. "
        "Do this {steps} times. Which number results?"
    )

    @staticmethod
    def step(n, m=3, c=1):
        return n // 2 if n % 2 == 0 else m * n + c

    def _generate(self, seed, difficulty=0):
        rng = random.Random(seed)
        n, m, c = rng.randint(5, 60), rng.choice((3, 5)), rng.choice((1, 3, 7))
        steps = 3 + difficulty
        value = n
        for _ in range(steps):
            value = self.step(value, m, c)
        return dict(n=n, m=m, c=c, steps=steps), value

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    @staticmethod
    def _process(y):
        try:
            return int(y.strip())
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return self._process(y) == a
