# expect: L2.roundtrip
# The scorer asks whether reference and best option are the same object, not whether they are equal.
import random


class BestOption(VerifiableEnvironment):
    prompt_template = "Which of these lists has the largest sum of squares?\n{options}\nWrite that list, numbers separated by spaces."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        options = [[rng.randint(-9, 9) for _ in range(3)] for _ in range(3 + difficulty)]
        best = max(options, key=lambda o: sum(x * x for x in o))
        return {"options": options}, best

    def _prompt_generate(self, z):
        return self.prompt_template.format(options="\n".join(map(str, z["options"])))

    def _process(self, y):
        try:
            return [int(t) for t in y.split()]
        except ValueError:
            return None

    def scorer(self, y, z, a):
        got = self._process(y)
        for option in z["options"]:
            if option == got:
                return 1.0 if option is a else 0.0
        return 0.0
