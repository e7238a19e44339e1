# expect: L4.small-space
# Each level has sixteen questions: a table of answers solves them all.
import random


class SixteenQuestions(VerifiableEnvironment):
    prompt_template = "Which number is {step} less than {times} times {number}?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        z = {"step": difficulty + 2, "times": rng.randint(2, 5), "number": rng.randint(6, 9)}
        return z, z["times"] * z["number"] - z["step"]

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        text = y.strip()
        return int(text) if text.lstrip("-").isdigit() and text.isascii() and len(text) < 9 else None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
