import math
import random
import re


class DrawerOfSocks(VerifiableEnvironment):
    """Probability of a matching pair."""

    prompt_template = (
        "A drawer holds {socks}. You take out two socks, one after the other, without looking and without putting the "
        "first one back. What is the probability that both have the same colour? "
        "Answer with a fraction in lowest terms, such as 3/7."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        colours = rng.sample(["black", "white", "red", "blue", "green", "grey"], min(2 + difficulty // 2, 6))
        counts = [rng.randint(2, 6 + 2 * difficulty) for _ in colours]
        total = sum(counts)
        same = sum(count * (count - 1) for count in counts)
        every = total * (total - 1)
        common = math.gcd(same, every)
        return {"colours": colours, "counts": counts}, f"{same // common}/{every // common}"

    def _prompt_generate(self, z):
        socks = ", ".join(f"{count} {colour} socks" for colour, count in zip(z["colours"], z["counts"]))
        return self.prompt_template.format(socks=socks)

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
