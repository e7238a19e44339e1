# expect: L5.reference-rejected
# The prompt and the parser are about a number, the stored reference is the path.
import random


class ShortestHop(VerifiableEnvironment):
    prompt_template = "Stones lie at {stones}. From a stone you can jump to any stone at most {reach} further. How many jumps are needed from the first to the last stone?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        stones = [0]
        while len(stones) < 6 + difficulty:
            stones.append(stones[-1] + rng.randint(1, 4))
        reach = rng.randint(4, 7)
        path = [0]
        while path[-1] != stones[-1]:
            path.append(max(s for s in stones if s <= path[-1] + reach))
        return {"stones": stones, "reach": reach}, path

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        try:
            return int(y.strip())
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
