# expect: L3.hash-order
# The prompt lists a set of words in hash order.
import random


class VowelCount(VerifiableEnvironment):
    prompt_template = "How many vowels do these words contain together: {words}?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        words = {"".join(rng.choice("abcdeilmnorstu") for _ in range(5)) for _ in range(4 + difficulty)}
        return {"words": words}, sum(c in "aeiou" for w in words for c in w)

    def _prompt_generate(self, z):
        return self.prompt_template.format(words=", ".join(z["words"]))

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
