import bisect
import collections
import functools
import heapq
import itertools
import math
import random
import re
import typing


class Combinatorics(VerifiableEnvironment):
    prompt_template = "Here are some numbers: {numbers}. How many ways are there to choose a subset of size {subset_size} from this set? Give one integer."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        numbers = rng.sample(range(1, 50 + 10 * difficulty), 9)  # Selecting 9 unique numbers between 1 and 50 + 10 * difficulty
        subset_size = rng.choice(range(1, 10))  # Choosing a subset size between 1 and 10
        a = len(list(itertools.combinations(numbers, subset_size)))
        z = {"numbers": numbers, "subset_size": subset_size}
        return z, a

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        text = y.strip()
        return int(text) if re.fullmatch(r"-?[0-9]{1,18}", text) else None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
