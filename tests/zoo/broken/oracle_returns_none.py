# expect: L2.no-answer
# The oracle finds nothing for some instances and the answer stays None, without a word in the prompt about it.
import random


class FirstPair(VerifiableEnvironment):
    prompt_template = "Find the first index i (from 0) such that the list {values} has {target} - values[i] at a later place."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        values = [rng.randint(1, 20) for _ in range(5 + difficulty)]
        target = rng.randint(10, 30)
        answer = None
        for i, v in enumerate(values):
            if target - v in values[i + 1 :]:
                answer = i
                break
        return {"values": values, "target": target}, answer

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
