# expect: L1.syntax
# The response was cut off by the token limit in the middle of a call.
import random


class TowerHeights(VerifiableEnvironment):
    prompt_template = "Towers: {towers}. How tall is the tallest pair?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        towers = [rng.randint(1, 50) for _ in range(4 + difficulty)]
        best = max(towers[i] + towers[j] for i in range(len(towers)) for j in range(i))
        return {"towers": towers}, best

    def _prompt_generate(self, z):
        return self.prompt_template.format(towers=", ".join(map(str,
