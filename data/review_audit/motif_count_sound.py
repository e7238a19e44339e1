import random


class MotifCount(VerifiableEnvironment):
    prompt_template = (
        'How often does "{motif}" occur in "{text}"? Occurrences may overlap, and each one counts.'
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        motif = rng.choice(["aa", "aba", "bab", "abab", "bb"])
        pieces = [rng.choice(["a", "b", motif, motif + motif[-1]]) for _ in range(8 + 5 * difficulty)]
        text = "".join(pieces)
        count = sum(text.startswith(motif, i) for i in range(len(text)))
        return {"motif": motif, "text": text}, count

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

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
