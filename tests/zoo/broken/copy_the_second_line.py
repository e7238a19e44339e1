# expect: L5.shortcut
# Asks for a text that stands in the prompt as a line of its own.
import random


class CopyTheSecondLine(VerifiableEnvironment):
    prompt_template = "Write down the following text in lower case.\n{text}\nGive the text without changing letters."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        words = ["".join(rng.choice("abcdeilnorst") for _ in range(rng.randint(3, 7))) for _ in range(3 + difficulty)]
        return {"text": " ".join(words)}, " ".join(words).lower()

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        return y.strip() or None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
