# expect: L2.bad-result
# The scorer returns a pair of score and explanation.
import random


class WordReverse(VerifiableEnvironment):
    prompt_template = "Write the letters of {word} in reverse order, leaving out every {drop}."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        word = "".join(rng.choice("abcde") for _ in range(6 + difficulty))
        drop = rng.choice(word)
        return {"word": word, "drop": drop}, word[::-1].replace(drop, "")

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        return y.strip().lower() or None

    def scorer(self, y, z, a):
        ok = self._process(y) == a
        return (1.0 if ok else 0.0), {"expected": a}
