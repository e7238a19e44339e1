# expect: L3.instance-unstable
# One generator for the whole module, seeded once when the file is loaded.
import random

RNG = random.Random(42)


class Anagrams(VerifiableEnvironment):
    prompt_template = "In how many ways can the letters of {word} be arranged?"

    def _generate(self, seed, difficulty):
        word = "".join(RNG.choice("ABCD") for _ in range(4 + difficulty))
        ways, n = 1, 0
        for letter in set(word):
            for k in range(1, word.count(letter) + 1):
                n += 1
                ways = ways * n // k
        return {"word": word}, ways

    def _prompt_generate(self, z):
        return self.prompt_template.format(word=z["word"])

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
