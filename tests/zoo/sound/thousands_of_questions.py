# expect: sound
# The twin of sixteen_questions: too many for a table.
import random


class ThousandsOfQuestions(VerifiableEnvironment):
    prompt_template = "Which number is {step} less than {times} times {number}?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        z = {"step": difficulty + 2, "times": rng.randint(2, 99), "number": rng.randint(5, 500)}
        return z, z["times"] * z["number"] - z["step"]

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        text = y.strip()
        return int(text) if text.lstrip("-").isdigit() and text.isascii() and len(text) < 9 else None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
