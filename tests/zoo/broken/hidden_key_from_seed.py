# expect: L4.hidden-latent
# The cipher's key is computed from the seed, not drawn, and the prompt keeps it secret.
import random


class SecretShift(VerifiableEnvironment):
    prompt_template = "Encrypt the word {word} with the shift cipher (each letter moves forward by the key, z is followed by a)."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        word = "".join(rng.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(5 + difficulty))
        key = seed % 25 + 1
        return {"word": word}, "".join(chr((ord(c) - 97 + key) % 26 + 97) for c in word)

    def _prompt_generate(self, z):
        return self.prompt_template.format(word=z["word"])

    def _process(self, y):
        return y.strip().lower() if y.strip().isalpha() else None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
