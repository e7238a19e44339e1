# expect: L4.hidden-latent
# Which of three quantities is wanted is drawn, but the prompt always asks for "the statistic".
import random


class Statistic(VerifiableEnvironment):
    prompt_template = "Scores of a class: {scores}. Compute the statistic and answer with an integer."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        scores = [rng.randint(0, 100) for _ in range(5 + 2 * difficulty)]
        kind = rng.choice(["range", "median", "argmax"])
        if kind == "range":
            answer = max(scores) - min(scores)
        elif kind == "median":
            answer = sorted(scores)[len(scores) // 2]
        else:
            answer = scores.index(max(scores))
        return {"scores": scores, "kind": kind}, answer

    def _prompt_generate(self, z):
        return self.prompt_template.format(scores=z["scores"])

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
