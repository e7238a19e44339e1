# expect: L1.signature
# Half stateful, half functional: the renderer takes no instance but the scorer wants one.
import random


class BusRoute(VerifiableEnvironment):
    prompt_template = "A bus starts with {start} passengers. {stops} How many are on board at the end?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        self.start = rng.randint(5, 20)
        self.stops = [(rng.randint(0, 4), rng.randint(0, 9)) for _ in range(2 + difficulty)]
        self.ref_answer = self.start + sum(on - off for off, on in self.stops)

    def _prompt_generate(self):
        stops = " ".join(f"At a stop {off} get off and {on} get on." for off, on in self.stops)
        return self.prompt_template.format(start=self.start, stops=stops)

    def _process(self, response):
        try:
            return int(response)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
