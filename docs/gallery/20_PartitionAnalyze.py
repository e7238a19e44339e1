import bisect
import collections
import functools
import heapq
import itertools
import math
import random
import re
import typing

class PartitionAnalyze(VerifiableEnvironment):
    prompt_template = "Here are {n} numbers: {numbers}. How many of them are in the same partition as the {partition} number? Give one integer."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = 9 + 2 * difficulty
        numbers = [rng.randint(1, 20 + 10 * difficulty) for _ in range(n)]
        partition = rng.choice(numbers)
        count = sum(1 for number in numbers if number == partition)
        z = {"n": n, "numbers": numbers, "partition": partition, "count": count}
        return z, count

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        text = y.strip()
        return int(text) if re.fullmatch(r"-?[0-9]{1,18}", text) else None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
