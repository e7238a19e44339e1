# expect: L5.parser-leaks
# Stateful: garbage is replaced by the reference "to be robust".
import random


class SignalLamps(VerifiableEnvironment):
    prompt_template = "Lamps are {lamps} (1 is on). The switches {switches} are pressed in turn; switch i toggles lamp i and the next one (cyclically). Write the final lamps as a string of 0 and 1."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = 5 + difficulty
        self.lamps = [rng.randint(0, 1) for _ in range(n)]
        self.switches = [rng.randrange(n) for _ in range(3 + difficulty)]
        state = list(self.lamps)
        for i in self.switches:
            state[i] ^= 1
            state[(i + 1) % n] ^= 1
        self.ref_answer = "".join(map(str, state))

    def _prompt_generate(self):
        return self.prompt_template.format(lamps="".join(map(str, self.lamps)), switches=self.switches)

    def _process(self, response):
        text = response.strip()
        if not text or set(text) - {"0", "1"}:
            return self.ref_answer
        return text

    def scorer(self, parsed):
        return 1.0 if parsed == self.ref_answer else 0.0
