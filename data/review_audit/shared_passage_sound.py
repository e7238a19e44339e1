import random
import re


class SharedPassage(VerifiableEnvironment):
    """Longest passage that two texts share."""

    prompt_template = (
        'Two genomes: "{first}" and "{second}". '
        "How long is the longest contiguous block of letters that occurs in both?"
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        length = 8 + 4 * difficulty
        first = "".join(rng.choice("ACGT") for _ in range(length))
        second = "".join(rng.choice("ACGT") for _ in range(length))
        cut = rng.randint(0, length - 4)
        piece = first[cut : cut + rng.randint(2, 4 + difficulty)]
        place = rng.randint(0, length - len(piece))
        second = second[:place] + piece + second[place + len(piece) :]
        return {"first": first, "second": second}, self._longest(first, second)

    def _longest(self, s, t):
        table = [[0] * (len(t) + 1) for _ in range(len(s) + 1)]
        for i in range(1, len(s) + 1):
            for j in range(1, len(t) + 1):
                if s[i - 1] == t[j - 1]:
                    table[i][j] = table[i - 1][j - 1] + 1
        return max(max(row) for row in table)

    def _prompt_generate(self, z):
        return self.prompt_template.format(first=z["first"], second=z["second"])

    def _process(self, y):
        match = re.fullmatch(r"\s*(-?\d{1,30})\s*", y)
        if match is None:
            return None
        return int(match.group(1))

    def scorer(self, y, z, a):
        value = self._process(y)
        if value is None:
            return 0.0
        return float(value == a)
