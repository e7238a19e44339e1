# expect: L5.reference-rejected
# The parser takes digits only, but one answer in three is negative.
import random


class Elevator(VerifiableEnvironment):
    prompt_template = "An elevator starts on floor {start} and moves {moves} floors (plus is up). On which floor does it end?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        start = rng.randint(0, 6)
        moves = [rng.randint(-6, 6) for _ in range(3 + difficulty)]
        return {"start": start, "moves": moves}, start + sum(moves)

    def _prompt_generate(self, z):
        return self.prompt_template.format(start=z["start"], moves=", ".join(f"{m:+d}" for m in z["moves"]))

    def _process(self, y):
        y = y.strip()
        return int(y) if y.isascii() and y.isdigit() and len(y) < 9 else None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
