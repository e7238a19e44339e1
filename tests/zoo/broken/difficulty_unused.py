# expect: L4.difficulty-ignored
# The difficulty is accepted and never looked at.
import random


class MirrorWord(VerifiableEnvironment):
    prompt_template = "Swap neighbouring letters of {word} in pairs (first with second, third with fourth, ...). Write the result."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        word = "".join(rng.choice("abcdefgh") for _ in range(8))
        return {"word": word}, "".join(word[i + 1] + word[i] for i in range(0, 8, 2))

    def _prompt_generate(self, z):
        return self.prompt_template.format(word=z["word"])

    def _process(self, y):
        return y.strip().lower() if y.strip().isalpha() else None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
