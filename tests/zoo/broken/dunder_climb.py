# expect: L1.dunder
# Climbs from an object to the interpreter through double-underscore attributes.
import random


class ParityBits(VerifiableEnvironment):
    prompt_template = "What is the parity (0 or 1) of the number of ones in {bits}?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        kinds = len(().__class__.__base__.__subclasses__())
        bits = "".join(rng.choice("01") for _ in range(6 + difficulty + kinds % 1))
        return {"bits": bits}, bits.count("1") % 2

    def _prompt_generate(self, z):
        return self.prompt_template.format(bits=z["bits"])

    def _process(self, y):
        return int(y) if y.strip() in ("0", "1") else None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
