# expect: sound
import random

CONSONANTS = "bcdfghklmnprstvz"
VOWELS = "aeiou"


def make_word(rng, syllables):
    return "".join(rng.choice(CONSONANTS) + rng.choice(VOWELS) for _ in range(syllables))


def shift_text(text, k):
    return "".join(chr((ord(c) - 97 + k) % 26 + 97) if c.isalpha() else c for c in text)


class CaesarDecode(VerifiableEnvironment):
    prompt_template = (
        "A text of lower-case letters was encrypted by moving every letter {k} places forward in the alphabet "
        "(z is followed by a).\nEncrypted: {cipher}\nWrite the original text."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        plain = " ".join(make_word(rng, rng.randint(2, 3)) for _ in range(1 + difficulty))
        k = rng.randint(1, 25)
        return {"cipher": shift_text(plain, k), "k": k}, plain

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        words = y.strip().lower().split()
        return " ".join(words) if words and all(w.isalpha() and w.isascii() for w in words) else None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
