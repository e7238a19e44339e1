# expect: sound
import random


class InversionCount(VerifiableEnvironment):
    """A number graded by closeness: min(answer, gold) / max(answer, gold), as many public suites do."""

    prompt_template = (
        "How many pairs i < j with p[i] > p[j] does the list p = {p} have? "
        "A wrong count earns partial credit, the more the closer it is."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        p = list(range(1, 7 + 2 * difficulty))
        while True:
            rng.shuffle(p)
            count = sum(p[i] > p[j] for j in range(len(p)) for i in range(j))
            if count:
                return {"p": p}, count

    def _prompt_generate(self, z):
        return self.prompt_template.format(p=z["p"])

    def _process(self, y):
        y = y.strip()
        return int(y) if y.isascii() and y.isdigit() and len(y) <= 9 else None

    def scorer(self, y, z, a):
        value = self._process(y)
        if value is None or value == 0:
            return 0.0
        return (min(value, a) / max(value, a)) ** 3
