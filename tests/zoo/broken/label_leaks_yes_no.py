# expect: L5.answer-in-prompt
# A forgotten label at the end of the prompt gives the yes or no away.
import random


class CanReach(VerifiableEnvironment):
    prompt_template = "A frog on stone 0 can jump {a} or {b} stones forward. Can it land exactly on stone {n}? Answer yes or no.\n[label: {label}]"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        a, b = rng.randint(3, 6 + difficulty), rng.randint(7, 12 + difficulty)
        n = rng.randint(10, 30 + difficulty)
        can = any((n - a * i) % b == 0 for i in range(n // a + 1))
        return {"a": a, "b": b, "n": n, "label": "yes" if can else "no"}, "yes" if can else "no"

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        word = y.strip().lower()
        return word if word in ("yes", "no") else None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
