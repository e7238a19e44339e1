# expect: sound
import random
from functools import lru_cache


@lru_cache(maxsize=None)
def partitions(n, largest):
    """Ways to write n as a sum of parts of at most `largest`."""
    if n == 0:
        return 1
    if n < 0 or largest == 0:
        return 0
    return partitions(n - largest, largest) + partitions(n, largest - 1)


class RestrictedPartitions(VerifiableEnvironment):
    """A pure cache at module level is fine: nothing depends on what it holds."""

    prompt_template = "In how many ways can {n} be written as a sum of positive integers, each at most {k}, order ignored?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = rng.randint(6, 14 + 4 * difficulty)
        k = rng.randint(2, n - 1)
        return {"n": n, "k": k}, partitions(n, k)

    def _prompt_generate(self, z):
        return self.prompt_template.format(n=z["n"], k=z["k"])

    def _process(self, y):
        text = y.strip()
        return int(text) if text.isdigit() and text.isascii() and len(text) <= 30 else None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
