import bisect
import collections
import functools
import heapq
import itertools
import math
import random
import re
import typing


class IntervalCalculator(VerifiableEnvironment):
    prompt_template = "Here are the intervals: {intervals}. How many of them are over {limit}? Give one integer."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        intervals = rng.sample([i for i in range(1, 11 + 10 * difficulty)], 3)
        limit = rng.randint(1, 11)
        a = sum(1 for interval in intervals if interval > limit)
        z = {"intervals": intervals, "limit": limit}
        return z, a

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        text = y.strip()
        return int(text) if re.fullmatch(r"-?[0-9]{1,18}", text) else None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
