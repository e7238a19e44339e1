# expect: L4.constant-prompt
# The generator is seeded with the difficulty: every seed of a level gives the same instance.
import random


class BoatRace(VerifiableEnvironment):
    prompt_template = "Boats need {times} minutes for the course. By how many minutes does the fastest beat the slowest?"

    def _generate(self, seed, difficulty):
        rng = random.Random(difficulty)
        times = [rng.randint(20, 90) for _ in range(3 + difficulty)]
        return {"times": times}, max(times) - min(times)

    def _prompt_generate(self, z):
        return self.prompt_template.format(times=z["times"])

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
