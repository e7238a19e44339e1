# expect: L4.constant-answer
# The quantity asked for is zero by construction.
import random


class NetChange(VerifiableEnvironment):
    prompt_template = "Water levels measured around a lake, back to the start: {levels}. What is the sum of all changes from one measurement to the next?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        levels = [rng.randint(0, 50) for _ in range(4 + difficulty)]
        levels.append(levels[0])
        return {"levels": levels}, sum(b - a for a, b in zip(levels, levels[1:]))

    def _prompt_generate(self, z):
        return self.prompt_template.format(levels=z["levels"])

    def _process(self, y):
        try:
            return int(y.strip())
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
