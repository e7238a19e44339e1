# expect: sound
import random

LETTERS = "abcdefghijklmnopqrstuvwxyz"


class ThirdWord(VerifiableEnvironment):
    """The answer is one of the words that the prompt lists, but which one takes work."""

    prompt_template = (
        "Sort these words alphabetically by their reversal (compare the words read backwards): {words}.\n"
        "Which word comes at place {k} (counting from 1)? Answer with the word itself."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        words = set()
        while len(words) < 6 + 2 * difficulty:
            words.add("".join(rng.choice(LETTERS) for _ in range(rng.randint(3, 6))))
        words = sorted(words)
        rng.shuffle(words)
        k = rng.randint(1, len(words))
        return {"words": words, "k": k}, sorted(words, key=lambda w: w[::-1])[k - 1]

    def _prompt_generate(self, z):
        return self.prompt_template.format(words=", ".join(z["words"]), k=z["k"])

    def _process(self, y):
        word = y.strip().lower()
        return word if word.isalpha() else None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
