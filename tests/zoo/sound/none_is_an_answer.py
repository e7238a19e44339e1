# expect: sound
import random


class FirstRepeat(VerifiableEnvironment):
    """For some instances the right answer is the word none, in any case."""

    prompt_template = "Which letter of {text} is the first to occur a second time when you read from left to right? Answer with the letter, or none if all letters differ."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        letters = "abcdefghijklmnopqrstuvwxyz"
        text = "".join(rng.sample(letters, 5 + difficulty))
        if rng.random() < 0.7:
            i, j = sorted(rng.sample(range(len(text)), 2))
            text = text[:j] + text[i] + text[j + 1 :]
        seen = set()
        answer = "none"
        for c in text:
            if c in seen:
                answer = c
                break
            seen.add(c)
        return {"text": text}, answer

    def _prompt_generate(self, z):
        return self.prompt_template.format(text=z["text"])

    def _process(self, y):
        word = y.strip().lower()
        return word if word == "none" or (len(word) == 1 and word.isalpha()) else None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
