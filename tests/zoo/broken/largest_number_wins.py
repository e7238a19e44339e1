# expect: L5.shortcut
# However long the story, the answer is the largest number in it.
import random


class HighJump(VerifiableEnvironment):
    prompt_template = "Athletes jump {heights} centimetres. What is the winning height?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        heights = [rng.randint(150, 240) for _ in range(4 + 2 * difficulty)]
        return {"heights": heights}, max(heights)

    def _prompt_generate(self, z):
        return self.prompt_template.format(heights=", ".join(map(str, z["heights"])))

    def _process(self, y):
        try:
            return int(y.strip())
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
