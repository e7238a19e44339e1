import random


class TypoDistance(VerifiableEnvironment):
    """Edit distance between two words."""

    prompt_template = (
        "One step inserts a letter, deletes a letter, or replaces a letter by another. "
        'What is the smallest number of steps that turns "{first}" into "{second}"?'
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        first = [rng.choice("abcde") for _ in range(5 + difficulty)]
        second = list(first)
        for _ in range(rng.randint(2, 4 + difficulty)):
            action, place = rng.randrange(3), rng.randrange(len(second))
            if action == 0:
                second.insert(place, rng.choice("abcde"))
            elif action == 1 and len(second) > 3:
                del second[place]
            else:
                second[place] = rng.choice("abcde")
        z = {"first": "".join(first), "second": "".join(second)}
        return z, self._distance(z["first"], z["second"])

    def _distance(self, s, t):
        table = [[i + j if i * j == 0 else 0 for j in range(len(t) + 1)] for i in range(len(s) + 1)]
        for i in range(1, len(s) + 1):
            for j in range(1, len(t) + 1):
                if s[i - 1] == t[j - 1]:
                    table[i][j] = table[i - 1][j - 1]
                else:
                    table[i][j] = 1 + min(table[i - 1][j], table[i][j - 1])
        return table[len(s)][len(t)]

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
