# expect: sound
import random


class XorStrings(VerifiableEnvironment):
    """Small levels have few instances: at level 0 the strings have three bits."""

    prompt_template = "Compute the bitwise exclusive or of the binary strings\n{rows}\nKeep leading zeros."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        width = 3 + 2 * difficulty
        rows = ["".join(rng.choice("01") for _ in range(width)) for _ in range(2 + difficulty // 4)]
        out = "".join(str(sum(map(int, column)) % 2) for column in zip(*rows))
        return {"rows": rows}, out

    def _prompt_generate(self, z):
        return self.prompt_template.format(rows="\n".join(z["rows"]))

    def _process(self, y):
        text = y.strip()
        return text if text and set(text) <= {"0", "1"} else None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
