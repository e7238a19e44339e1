# expect: sound
import itertools
import random
import re


class RunLengthMerge(VerifiableEnvironment):
    prompt_template = (
        "In run-length encoding 3a2b stands for aaabb. Decode {x} and {y}, interleave the two texts letter by letter, "
        "beginning with the first (the rest of the longer text comes at the end), and write the run-length encoding of "
        "the result, with the count also where it is 1."
    )

    def _encode(self, text):
        return "".join(f"{len(list(group))}{c}" for c, group in itertools.groupby(text))

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        x, y = ("".join(rng.choice("abc") * rng.randint(1, 3) for _ in range(2 + difficulty)) for _ in range(2))
        mixed = "".join(p + q for p, q in itertools.zip_longest(x, y, fillvalue=""))
        return {"x": self._encode(x), "y": self._encode(y)}, self._encode(mixed)

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        text = "".join(y.split())
        return text if re.fullmatch(r"(?:[0-9]{1,3}[a-z])+", text) else None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
