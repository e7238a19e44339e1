# expect: L1.import
# The import hides in a method; time would also make the instance depend on the clock.
import random


class MinutesPassed(VerifiableEnvironment):
    prompt_template = "A film starts at minute {start} of the day and lasts {length} minutes. At which minute does it end?"

    def _generate(self, seed, difficulty):
        from datetime import datetime

        rng = random.Random(seed)
        start = (rng.randint(0, 600) + datetime.now().minute) % 1440
        length = rng.randint(60, 90 + 10 * difficulty)
        return {"start": start, "length": length}, (start + length) % 1440

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
