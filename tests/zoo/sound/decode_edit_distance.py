# expect: sound
import random


def edit_distance(s, t):
    row = list(range(len(t) + 1))
    for i, c in enumerate(s, 1):
        previous, row[0] = row[0], i
        for j, d in enumerate(t, 1):
            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (c != d))
    return row[-1]


class SubstitutionDecode(VerifiableEnvironment):
    """A string graded by edit distance; only strings of the plain alphabet count at all."""

    prompt_template = (
        "Letters were replaced by this table: {table}.\nThe encoded message is {cipher}. "
        "Write the original message (letters a to f only)."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        plain = "".join(rng.choice("abcdef") for _ in range(5 + 2 * difficulty))
        symbols = rng.sample("UVWXYZ", 6)
        table = dict(zip("abcdef", symbols))
        return {"table": table, "cipher": "".join(table[c] for c in plain)}, plain

    def _prompt_generate(self, z):
        table = ", ".join(f"{k} became {v}" for k, v in z["table"].items())
        return self.prompt_template.format(table=table, cipher=z["cipher"])

    def _process(self, y):
        text = y.strip().lower()
        return text if text and len(text) <= 200 and set(text) <= set("abcdef") else None

    def scorer(self, y, z, a):
        text = self._process(y)
        if text is None:
            return 0.0
        return max(0.0, 1.0 - 2 * edit_distance(text, a) / len(a))
