# expect: L4.difficulty-ignored
# The prompt names the level, and that is all that the level changes.
import random


class LevelLabel(VerifiableEnvironment):
    prompt_template = "[Difficulty {level}] Alternately add and subtract: {terms}. What is the result (the first term is added)?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        terms = [rng.randint(1, 60) for _ in range(7)]
        return {"terms": terms, "level": difficulty}, sum(terms[::2]) - sum(terms[1::2])

    def _prompt_generate(self, z):
        return self.prompt_template.format(level=z["level"], terms=", ".join(map(str, z["terms"])))

    def _process(self, y):
        try:
            return int(y.strip())
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
