# expect: sound
import random
from collections import Counter


class LetterCounts(VerifiableEnvironment):
    """A dict as JSON-like text 'a: 3, b: 1', keys in any order."""

    prompt_template = (
        "Delete every letter of '{text}' that stands directly after an equal letter. How often does each letter occur in "
        "what remains? Write letter: count pairs separated by commas, like a: 3, b: 1."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        text = "".join(rng.choice("abcd") for _ in range(8 + 3 * difficulty))
        kept = [c for i, c in enumerate(text) if i == 0 or text[i - 1] != c]
        return {"text": text}, dict(Counter(kept))

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        counts = {}
        for part in y.strip().split(","):
            letter, found, number = part.partition(":")
            letter, number = letter.strip(), number.strip()
            if not found or not letter.isalpha() or not number.isascii() or not number.isdigit() or letter in counts:
                return None
            counts[letter] = int(number[:9])
        return counts

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
