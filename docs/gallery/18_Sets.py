import bisect
import collections
import functools
import heapq
import itertools
import math
import random
import re
import typing


class Sets(VerifiableEnvironment):
    prompt_template = "Here are {n} items: {items}. How many of them are unique? Give one integer."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = 5 + 2 * difficulty
        items = [rng.randint(1, 10 + 10 * difficulty) for _ in range(n)]
        unique_items = set(items)
        a = len(unique_items)
        z = {"n": n, "items": items, "unique_items": unique_items}
        return z, a

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        text = y.strip()
        return int(text) if re.fullmatch(r"-?[0-9]{1,18}", text) else None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
