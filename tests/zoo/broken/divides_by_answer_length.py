# expect: L5.scorer-raises
# Precision of an empty list of findings: a division by zero.
import random
import re


class LocalMaxima(VerifiableEnvironment):
    prompt_template = "At which indices (from 0) of {heights} is the value larger than both neighbours? Separate the indices by spaces."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        while True:
            heights = [rng.randint(0, 99) for _ in range(8 + difficulty)]
            peaks = [i for i in range(1, len(heights) - 1) if heights[i - 1] < heights[i] > heights[i + 1]]
            if peaks:
                return {"heights": heights}, peaks

    def _prompt_generate(self, z):
        return self.prompt_template.format(heights=z["heights"])

    def _process(self, y):
        return {int(t) for t in re.findall(r"[0-9]{1,9}", y[:10_000])}

    def scorer(self, y, z, a):
        named = self._process(y)
        hit = len(named & set(a))
        precision, recall = hit / len(named), hit / len(a)
        return 2 * precision * recall / (precision + recall) if hit else 0.0
