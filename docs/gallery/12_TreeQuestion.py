import bisect
import collections
import functools
import heapq
import itertools
import math
import random
import re
import typing


class TreeQuestion(VerifiableEnvironment):
    prompt_template = "Here is a tree: {tree}. Count the number of leaves. Give one integer."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = 5 + 2 * difficulty
        tree = []
        for _ in range(n):
            node = rng.choice(['A','B','C','D','E','F','G','H','I'])
            if rng.randint(0,3) == 0:
                tree.append(node)
        z = {"tree": tree}
        return z, len(tree)

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        text = y.strip()
        return int(text) if re.fullmatch(r"-?[0-9]{1,18}", text) else None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
