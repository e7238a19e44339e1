# expect: L5.reference-rejected
# The parser lower-cases the answer, the reference has capitals.
import random

NAMES = ["Alice", "Bruno", "Carla", "Diego", "Elena", "Farid", "Gwen", "Hiro", "Ines", "Jonas", "Kira", "Luis", "Mona", "Nils", "Olga", "Paul"]


class LastInLine(VerifiableEnvironment):
    prompt_template = "{facts} Who stands at the very end of the line?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        line = rng.sample(NAMES, 3 + min(difficulty, 12))
        pairs = list(zip(line, line[1:]))
        rng.shuffle(pairs)
        return {"pairs": pairs}, line[-1]

    def _prompt_generate(self, z):
        return self.prompt_template.format(facts=" ".join(f"{a} stands directly in front of {b}." for a, b in z["pairs"]))

    def _process(self, y):
        return y.strip().lower() if y.strip().isalpha() else None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
