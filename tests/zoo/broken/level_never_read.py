# expect: L4.difficulty-ignored
# The level is never read; the words of short prompts contain digits that look like levels.
import random


class BracketDepth(VerifiableEnvironment):
    prompt_template = "Brackets: {word}\nWith each ( one level up and each ) one level down from level 0, find the highest level reached. Give one integer."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        word = "".join(rng.choices("()", k=7))
        depth = [0]
        for c in word:
            depth.append(depth[-1] + (1 if c == "(" else -1))
        return {"word": word}, max(depth)

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
