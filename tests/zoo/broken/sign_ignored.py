# expect: L5.perturbed-accepted
# abs() on both sides: the negated answer is right as well.
import random


class Displacement(VerifiableEnvironment):
    prompt_template = "A diver moves {moves} metres (plus is up). By how many metres has the depth changed in total, with sign?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        while True:
            moves = [rng.randint(-20, 20) for _ in range(3 + difficulty)]
            if sum(moves):
                return {"moves": moves}, sum(moves)

    def _prompt_generate(self, z):
        return self.prompt_template.format(moves=", ".join(f"{m:+d}" for m in z["moves"]))

    def _process(self, y):
        try:
            return int(y.strip())
        except ValueError:
            return None

    def scorer(self, y, z, a):
        value = self._process(y)
        return 1.0 if value is not None and abs(value) == abs(a) else 0.0
