# expect: sound
# The twin of question_is_its_answer: a sum is not a number.
import random
import re


class OnlyANumberCounts(VerifiableEnvironment):
    prompt_template = "How much is {expression}?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        terms = [rng.randint(2, 99) for _ in range(2 + difficulty)]
        signs = [rng.choice((1, -1)) for _ in terms[1:]]
        text = str(terms[0]) + "".join(f" {'+' if sign > 0 else '-'} {n}" for sign, n in zip(signs, terms[1:]))
        return {"expression": text}, terms[0] + sum(sign * n for sign, n in zip(signs, terms[1:]))

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        found = re.fullmatch(r"\s*(-?[0-9]{1,9})\s*", y)
        return int(found.group(1)) if found else None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
