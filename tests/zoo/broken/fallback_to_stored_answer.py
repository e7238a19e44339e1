# expect: L5.parser-leaks
# The generator keeps the answer on self, and the parser hands it out when it cannot read the text.
import random


class CargoTrain(VerifiableEnvironment):
    prompt_template = "Wagons weigh {wagons} tonnes. The locomotive pulls {limit} tonnes. How many wagons, taken from the front, can it pull?"

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.answer = None

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        wagons = [rng.randint(10, 40) for _ in range(6 + difficulty)]
        limit = rng.randint(60, sum(wagons))
        count = total = 0
        for w in wagons:
            total += w
            if total > limit:
                break
            count += 1
        self.answer = count
        return {"wagons": wagons, "limit": limit}, count

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        try:
            return int(y.strip())
        except ValueError:
            return self.answer

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
