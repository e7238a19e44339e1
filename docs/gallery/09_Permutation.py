import bisect
import collections
import functools
import heapq
import itertools
import math
import random
import re
import typing


class Permutation(VerifiableEnvironment):
    prompt_template = "Given the permutation {permutation}, how many distinct elements can you find? Give one integer."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = 5 + 2 * difficulty
        permutation = [rng.randint(1, n) for _ in range(n)]
        a = len(set(permutation))
        z = {"permutation": permutation}
        return z, a

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        text = y.strip()
        return int(text) if re.fullmatch(r"-?[0-9]{1,18}", text) else None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
