# expect: L4.small-space
# There are always nine numbers, and which they are does not matter: the size of the subset alone tells the answer.
import itertools
import random


class Subsets(VerifiableEnvironment):
    prompt_template = (
        "Here are some numbers: {numbers}. How many ways are there to choose a subset of size {size} from this set? "
        "Give one integer."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        numbers = rng.sample(range(1, 50 + 10 * difficulty), 9)
        size = rng.choice(range(1, 10))
        return {"numbers": numbers, "size": size}, len(list(itertools.combinations(numbers, size)))

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        text = y.strip()
        return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
