# expect: sound
# The towns are always six, the roads are six only at first: the figure before the list counts something else.
import random


class Roads(VerifiableEnvironment):
    prompt_template = (
        "There are 6 towns with roads {roads}. How many of the towns can be reached from town {start}, itself "
        "included? Answer with one integer."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        pairs = [[left, right] for left in range(6) for right in range(6) if left != right]
        roads = rng.sample(pairs, min(6 + difficulty, 14))
        start = rng.randrange(6)
        reached, waiting = {start}, [start]
        while waiting:
            town = waiting.pop()
            for left, right in roads:
                if left == town and right not in reached:
                    reached.add(right)
                    waiting.append(right)
        return {"roads": roads, "start": start}, len(reached)

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        text = y.strip()
        return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
