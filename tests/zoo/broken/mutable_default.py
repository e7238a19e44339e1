# expect: L3.instance-unstable
# The default list of _generate collects the values of all earlier calls.
import random


class QueueLength(VerifiableEnvironment):
    prompt_template = "People arrive and leave in a queue: {events}. How many stand there at the end?"

    def _generate(self, seed, difficulty, events=[]):
        rng = random.Random(seed)
        length = 0
        for _ in range(4 + difficulty):
            if length and rng.random() < 0.4:
                k = rng.randint(1, length)
                events.append(f"-{k}")
                length -= k
            else:
                k = rng.randint(1, 6)
                events.append(f"+{k}")
                length += k
        return {"events": events[-50:]}, length

    def _prompt_generate(self, z):
        return self.prompt_template.format(events=" ".join(z["events"]))

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
