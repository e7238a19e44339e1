import math
import random
import re


class BulbTest(VerifiableEnvironment):
    prompt_template = (
        "A bag holds {good} good and {bad} bad bulbs. Bulbs are taken out one by one, without putting them back, until the "
        "first good one is found. What is the probability that this takes at most {tries} bulbs? "
        "Answer with a fraction in lowest terms, such as 3/7."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        good = rng.randint(1, 4 + difficulty)
        bad = rng.randint(3, 6 + 2 * difficulty)
        tries = rng.randint(2, min(bad, 3 + difficulty // 2))
        miss, every = 1, 1
        for i in range(tries):
            miss *= bad - i
            every *= good + bad - i
        common = math.gcd(every - miss, every)
        z = {"good": good, "bad": bad, "tries": tries}
        return z, f"{(every - miss) // common}/{every // common}"

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        match = re.fullmatch(r"\s*(\d{1,12})\s*/\s*(\d{1,12})\s*", y)
        if match is None:
            return None
        return int(match.group(1)), int(match.group(2))

    def scorer(self, y, z, a):
        parsed = self._process(y)
        if parsed is None:
            return 0.0
        p, q = (int(part) for part in a.split("/"))
        return 1.0 if parsed == (p, q) else 0.0
