# expect: L2.not-serialisable
# The instance holds tree nodes: objects that cannot be stored.
import random


class Node:
    def __init__(self, value, children=()):
        self.value = value
        self.children = list(children)

    def total(self):
        return self.value + sum(child.total() for child in self.children)

    def __str__(self):
        inside = " ".join(map(str, self.children))
        return f"({self.value} {inside})" if inside else f"({self.value})"


class TreeTotal(VerifiableEnvironment):
    prompt_template = "A tree is written as (value children...): {tree}. What is the total of the leaves' values minus the root's value?"

    def _grow(self, rng, depth):
        return Node(rng.randint(1, 20), [self._grow(rng, depth - 1) for _ in range(2)] if depth else [])

    def _leaves(self, node):
        return sum(map(self._leaves, node.children)) if node.children else node.value

    def _generate(self, seed, difficulty):
        root = self._grow(random.Random(seed), 1 + difficulty // 3)
        return {"tree": root}, self._leaves(root) - root.value

    def _prompt_generate(self, z):
        return self.prompt_template.format(tree=z["tree"])

    def _process(self, y):
        try:
            return int(y.strip())
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
