# expect: L5.reference-rejected
# Variables are read back by one-digit names: from the tenth on the parser takes x1 for x10.
import random
import re


class Assignments(VerifiableEnvironment):
    prompt_template = "Run this program:\n{program}\nWrite the final values of all variables, like x0=3 x1=8."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = 3 + 2 * difficulty
        values = [rng.randint(1, 9)]
        lines = [f"x0 = {values[0]}"]
        for i in range(1, n):
            j, k = rng.randrange(i), rng.randint(1, 9)
            values.append(values[j] + k)
            lines.append(f"x{i} = x{j} + {k}")
        return {"program": lines, "values": values}, " ".join(f"x{i}={v}" for i, v in enumerate(values))

    def _prompt_generate(self, z):
        return self.prompt_template.format(program="\n".join(z["program"]))

    def _process(self, y):
        found = re.findall(r"x(\d)\s*=\s*(\d{1,9})", y)
        return {int(i): int(v) for i, v in found} or None

    def scorer(self, y, z, a):
        got = self._process(y)
        if got is None:
            return 0.0
        return 1.0 if got == dict(enumerate(z["values"])) else 0.0
