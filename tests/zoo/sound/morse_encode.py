# expect: sound
import random

CODE = {"a": ".-", "d": "-..", "e": ".", "g": "--.", "i": "..", "k": "-.-", "m": "--", "n": "-.", "o": "---",
        "r": ".-.", "s": "...", "t": "-", "u": "..-", "w": ".--"}


class MorseEncode(VerifiableEnvironment):
    """Dots and dashes, with credit for each letter at its place: '- - -' is a well-formed answer here."""

    prompt_template = "Write the word {word} in Morse code, one space between letters. The code: {table}."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        word = "".join(rng.choice(sorted(CODE)) for _ in range(4 + difficulty))
        return {"word": word}, " ".join(CODE[c] for c in word)

    def _prompt_generate(self, z):
        return self.prompt_template.format(word=z["word"], table=", ".join(f"{c} = {m}" for c, m in CODE.items()))

    def _process(self, y):
        parts = y.split()
        return parts if parts and all(set(part) <= {".", "-"} for part in parts) else None

    def scorer(self, y, z, a):
        got, want = self._process(y), a.split()
        if got is None or len(got) > len(want):
            return 0.0
        return sum(g == w for g, w in zip(got, want)) / len(want)
