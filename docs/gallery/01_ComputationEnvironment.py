import bisect
import collections
import functools
import heapq
import itertools
import math
import random
import re
import typing


class ComputationEnvironment(VerifiableEnvironment):
    prompt_template = "Here are {n} numbers: {numbers}. How many of them are prime? Give one integer."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = 5 + 2 * difficulty
        numbers = [rng.randint(1, 100 + 10 * difficulty) for _ in range(n)]
        a = sum(1 for number in numbers if self._is_prime(number))
        z = {"n": n, "numbers": numbers, "limit": a}
        return z, a

    def _is_prime(self, number):
        if number < 2:
            return False
        for i in range(2, int(math.sqrt(number)) + 1):
            if number % i == 0:
                return False
        return True

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        text = y.strip()
        return int(text) if re.fullmatch(r"-?[0-9]{1,18}", text) else None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
