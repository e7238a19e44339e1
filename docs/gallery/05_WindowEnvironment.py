import bisect
import collections
import functools
import heapq
import itertools
import math
import random
import re
import typing

class WindowEnvironment(VerifiableEnvironment):
    prompt_template = "Here is a window: {window}. What is the area of the window? Give one real number."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        window_width = rng.randint(1, 10 + 10 * difficulty)  # Between 1 and 10 plus 10 times the difficulty
        window_height = rng.randint(1, 10 + 10 * difficulty)  # Between 1 and 10 plus 10 times the difficulty
        area = window_width * window_height
        z = {"window": f"{window_width}x{window_height}", "area": area}
        return z, area

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        text = y.strip()
        try:
            area = float(text)
            return area
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
