# expect: sound
import random


class Node:
    def __init__(self, key):
        self.key = key
        self.left = None
        self.right = None

    def insert(self, key):
        side = "left" if key < self.key else "right"
        child = self.left if side == "left" else self.right
        if child is not None:
            child.insert(key)
        elif side == "left":
            self.left = Node(key)
        else:
            self.right = Node(key)


def postorder(node):
    return [] if node is None else postorder(node.left) + postorder(node.right) + [node.key]


class SearchTree(VerifiableEnvironment):
    """A helper class builds the tree; the instance itself holds only the keys."""

    prompt_template = (
        "Insert the keys {keys} in this order into an empty binary search tree (no balancing).\n"
        "Write the keys in postorder, separated by spaces."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        keys = rng.sample(range(1, 100), 5 + 2 * difficulty)
        root = Node(keys[0])
        for key in keys[1:]:
            root.insert(key)
        return {"keys": keys}, postorder(root)

    def _prompt_generate(self, z):
        return self.prompt_template.format(keys=", ".join(map(str, z["keys"])))

    def _process(self, y):
        try:
            return list(map(int, y.split()))
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return 1 if self._process(y) == a else 0
