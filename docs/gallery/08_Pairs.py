import bisect
import collections
import functools
import heapq
import itertools
import math
import random
import re
import typing


class Pairs(VerifiableEnvironment):
    prompt_template = "Here are {n} pairs of numbers: {pairs}. How many pairs have the second number larger than the first? Give one integer."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = 5 + 2 * difficulty
        pairs = []
        for _ in range(n):
            first = rng.randint(1, 10 + 10 * difficulty)
            second = rng.randint(first, 20 + 10 * difficulty)
            pairs.append((first, second))
        a = sum(second > first for first, second in pairs)
        z = {"n": n, "pairs": pairs}
        return z, a

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        text = y.strip()
        return int(text) if re.fullmatch(r"-?[0-9]{1,18}", text) else None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
