import bisect
import collections
import functools
import heapq
import itertools
import math
import random
import re
import typing


class StringQuestion(VerifiableEnvironment):
    prompt_template = "Here are {n} strings: {strings}. How many of them have even length? Give one integer."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = 5 + 2 * difficulty
        strings = [''.join(rng.choice('abc') for _ in range(rng.randint(1, 10))) for _ in range(n)]
        a = sum(len(s) % 2 == 0 for s in strings)
        z = {"n": n, "strings": strings}
        return z, a

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        text = y.strip()
        return int(text) if re.fullmatch(r"-?[0-9]{1,18}", text) else None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
