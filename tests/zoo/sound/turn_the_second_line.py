# expect: sound
# The twin of copy_the_second_line: the words change places.
import random


class TurnTheSecondLine(VerifiableEnvironment):
    prompt_template = (
        "Write down the words of the following text in reverse order.\n{text}\nGive the text without changing letters."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        words = ["".join(rng.choice("abcdeilnorst") for _ in range(rng.randint(3, 7))) for _ in range(3 + difficulty)]
        return {"text": " ".join(words)}, " ".join(words[::-1])

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        return y.strip() or None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
