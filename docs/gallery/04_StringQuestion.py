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
    prompt_template = "Here are {n} strings: {strings}. How many of them contain the substring '{substring}'? Give one integer."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = 5 + 2 * difficulty
        strings = [rng.choice([f"{i}:{letter}" for i in range(1, 20 + 10 * difficulty) for letter in "abcd"]).split(":") for _ in range(n)]
        substring = rng.choice("abcd")
        a = sum(substring in string for string in strings)
        z = {"n": n, "strings": strings, "substring": substring}
        return z, a

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        text = y.strip()
        return int(text) if re.fullmatch(r"-?[0-9]{1,18}", text) else None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
