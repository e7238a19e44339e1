import bisect
import collections
import functools
import heapq
import itertools
import math
import random
import re
import typing


class CombinatoricsEnvironment(VerifiableEnvironment):
    prompt_template = "You have 6 cards with numbers {numbers}. How many of these cards have the number {target}?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = 6 + difficulty
        numbers = [rng.randint(1, 10 + 2 * difficulty) for _ in range(n)]
        target = rng.choice(numbers)
        a = sum(number == target for number in numbers)
        z = {"numbers": numbers, "target": target}
        return z, a

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        text = y.strip()
        return int(text) if re.fullmatch(r"-?[0-9]{1,18}", text) else None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
