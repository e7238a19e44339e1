import random


class MirrorWords(VerifiableEnvironment):
    prompt_template = (
        'How long is the longest block of consecutive letters of "{text}" that reads the same forwards and backwards?'
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        half = "".join(rng.choice("abc") for _ in range(rng.randint(2, 3 + difficulty)))
        middle = rng.choice(["", "a", "b", "c"])
        noise = lambda: "".join(rng.choice("abcd") for _ in range(rng.randint(2, 4 + 2 * difficulty)))
        text = noise() + half + middle + half[::-1] + noise()
        return {"text": text}, self._longest_mirror(text)

    def _longest_mirror(self, text):
        best = 0
        for centre in range(len(text)):
            left = right = centre
            while left >= 0 and right < len(text) and text[left] == text[right]:
                best = max(best, right - left + 1)
                left, right = left - 1, right + 1
        return best

    def _prompt_generate(self, z):
        return self.prompt_template.format(text=z["text"])

    def _process(self, y):
        """The answer as an integer, or None when it is not one."""
        text = y.strip().replace(",", "")
        try:
            return int(text)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        parsed = self._process(y)
        return 1.0 if parsed is not None and parsed == a else 0.0
