# expect: L1.forbidden-name
# The words come from a file of the host.
import random


class WordLength(VerifiableEnvironment):
    prompt_template = "How many letters do these words have together: {words}?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        with open("/usr/share/dict/words") as handle:
            words = rng.sample([line.strip() for line in handle], 3 + difficulty)
        return {"words": words}, sum(map(len, words))

    def _prompt_generate(self, z):
        return self.prompt_template.format(words=", ".join(z["words"]))

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
