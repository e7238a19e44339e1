import bisect
import collections
import functools
import heapq
import itertools
import math
import random
import re
import typing


class BitwiseEnvironment(VerifiableEnvironment):
    prompt_template = "Consider the binary representation of the number {number}. How many bits are set to 1?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = 5 + 2 * difficulty
        number = rng.getrandbits(n)
        z = {"number": number}
        a = bin(number).count('1')
        return z, a

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        text = y.strip()
        return int(text) if re.fullmatch(r"-?[0-9]{1,18}", text) else None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
