# expect: L3.hidden-state
# The stateful shape appends to a list that is created once: old items stay in new instances.
import random


class WarehouseEnv(VerifiableEnvironment):
    prompt_template = "A warehouse log: {log}. How many boxes are in stock at the end?"

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.log = []

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        for _ in range(3 + difficulty):
            self.log.append(rng.randint(1, 20) * rng.choice((1, 1, -1)))
        self.ref_answer = sum(self.log)

    def _prompt_generate(self):
        return self.prompt_template.format(log=", ".join(f"{n:+d}" for n in self.log))

    def _process(self, response):
        try:
            return int(response.strip())
        except ValueError:
            return None

    def scorer(self, parsed):
        return 1.0 if parsed == self.ref_answer else 0.0
