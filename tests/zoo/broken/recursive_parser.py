# expect: L5.scorer-raises
# A recursive parser without a limit: three thousand brackets overflow Python's stack.
import random


def parse(text, at=0):
    """A nested list of letters, like (a(bc)): (tree, next position)."""
    if text[at] != "(":
        return text[at], at + 1
    items, at = [], at + 1
    while text[at] != ")":
        item, at = parse(text, at)
        items.append(item)
    return items, at + 1


def mirror(tree):
    return [mirror(t) for t in reversed(tree)] if isinstance(tree, list) else tree


def show(tree):
    return "(" + "".join(map(show, tree)) + ")" if isinstance(tree, list) else tree


class MirrorTree(VerifiableEnvironment):
    prompt_template = "Reverse the order of the parts on every level of {tree}. Write the result in the same notation."

    def _grow(self, rng, size):
        if size <= 1:
            return rng.choice("abcdef")
        left = rng.randint(1, size - 1)
        return [self._grow(rng, left), self._grow(rng, size - left)]

    def _generate(self, seed, difficulty):
        tree = self._grow(random.Random(seed), 4 + difficulty)
        return {"tree": show(tree)}, show(mirror(tree))

    def _prompt_generate(self, z):
        return self.prompt_template.format(tree=z["tree"])

    def _process(self, y):
        text = "".join(y.split())
        try:
            tree, end = parse(text)
        except IndexError:
            return None
        return tree if end == len(text) else None

    def scorer(self, y, z, a):
        tree = self._process(y)
        return 1.0 if isinstance(tree, list) and show(tree) == a else 0.0
