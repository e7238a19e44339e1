# expect: sound
# The parser takes the number at the start and forgives what follows: lenient, but nothing is paid for less.
import random
import re


class ReadsLeadingNumber(VerifiableEnvironment):
    prompt_template = "A shop sells {count} boxes with {each} pens each. How many pens is that? Start with the number."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        z = {"count": rng.randint(2, 9 + 5 * difficulty), "each": rng.randint(3, 40 + 10 * difficulty)}
        return z, z["count"] * z["each"]

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        found = re.match(r"\s*(-?[0-9]{1,12})(?![0-9])", y)
        return int(found.group(1)) if found else None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
