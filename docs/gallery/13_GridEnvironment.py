import bisect
import collections
import functools
import heapq
import itertools
import math
import random
import re
import typing
from typing import List, Tuple


class GridEnvironment(VerifiableEnvironment):
    prompt_template = "You are given a grid with dimensions {width}x{height}. How many cells do you see? Give one integer."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        width = rng.randint(3, 10 + difficulty)
        height = rng.randint(3, 10 + difficulty)
        grid = []
        for _ in range(height):
            row = [rng.choice(["#", "."]) for _ in range(width)]
            grid.append(row)
        z = {"width": width, "height": height, "grid": grid}
        return z, width * height

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        text = y.strip()
        return int(text) if re.fullmatch(r"-?[0-9]{1,18}", text) else None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
