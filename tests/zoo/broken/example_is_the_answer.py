# expect: L5.answer-in-prompt
# The "example of the output format" is the solution itself.
import random


class BookStack(VerifiableEnvironment):
    prompt_template = (
        "Sort these book codes by their last character, ties by the whole code: {codes}.\n"
        "Example of the output format: {example}\nUse one space between codes."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        codes = ["".join(rng.choice("ABCDEFG") for _ in range(4)) for _ in range(4 + difficulty)]
        order = sorted(codes, key=lambda c: (c[-1], c))
        return {"codes": codes, "example": " ".join(order)}, " ".join(order)

    def _prompt_generate(self, z):
        return self.prompt_template.format(codes=" ".join(z["codes"]), example=z["example"])

    def _process(self, y):
        codes = y.upper().split()
        return codes if codes and all(c.isalpha() for c in codes) else None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a.split() else 0.0
