# expect: sound
import random


class VowelShift(VerifiableEnvironment):
    """Stateful, with the random generator kept on self and a text answer."""

    prompt_template = "Replace every vowel in '{text}' by the next one in the cycle a, e, i, o, u, a. Write the new text."

    def _generate(self, seed, difficulty):
        self.rng = random.Random(seed)
        self.text = "".join(self._syllable() for _ in range(3 + difficulty))
        self.ref_answer = self.text.translate(str.maketrans("aeiou", "eioua"))

    def _syllable(self):
        return self.rng.choice("bdfgklmnprst") + self.rng.choice("aeiou")

    def _prompt_generate(self):
        return self.prompt_template.format(text=self.text)

    def _process(self, response):
        text = response.strip().strip("'").lower()
        return text if text.isalpha() and text.isascii() else None

    def scorer(self, parsed):
        return 1.0 if parsed == self.ref_answer else 0.0
