# expect: L5.perturbed-accepted
# bool() of the parsed text: whatever is not empty counts as right.
import random


class Palindrome(VerifiableEnvironment):
    prompt_template = "Append as few letters as possible to {word} to make it a palindrome. Write the palindrome."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        word = "".join(rng.choice("xyz") for _ in range(4 + difficulty))
        k = next(k for k in range(len(word)) if word[k:] == word[k:][::-1])
        return {"word": word}, word + word[:k][::-1]

    def _prompt_generate(self, z):
        return self.prompt_template.format(word=z["word"])

    def _process(self, y):
        return y.strip().lower() or None

    def scorer(self, y, z, a):
        answer = self._process(y)
        return 1.0 if bool(answer) == bool(a) else 0.0
