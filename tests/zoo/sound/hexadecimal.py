# expect: sound
import random
import re


class HexMask(VerifiableEnvironment):
    prompt_template = "Compute ({x} AND {m}) XOR {k} on the hexadecimal numbers. Answer in hexadecimal with the prefix 0x."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        bits = 8 + 4 * difficulty
        x, m, k = (rng.getrandbits(bits) for _ in range(3))
        return {"x": hex(x), "m": hex(m), "k": hex(k)}, hex((x & m) ^ k)

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        return int(y.strip(), 16) if re.fullmatch(r"\s*0[xX][0-9a-fA-F]{1,30}\s*", y) else None

    def scorer(self, y, z, a):
        value = self._process(y)
        return 1.0 if value is not None and value == int(a, 16) else 0.0
