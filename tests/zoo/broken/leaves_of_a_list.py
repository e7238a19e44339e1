# expect: L5.shortcut
# A list of letters is no tree: what is called its leaves is how long it is.
import random


class Leaves(VerifiableEnvironment):
    prompt_template = "Here is a tree: {tree}. Count the number of leaves. Give one integer."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        tree = []
        for _ in range(5 + 2 * difficulty):
            node = rng.choice("ABCDEFGHI")
            if rng.randint(0, 3) == 0:
                tree.append(node)
        return {"tree": tree}, len(tree)

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        text = y.strip()
        return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
