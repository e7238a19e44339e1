# expect: L5.permissive
# One satisfied clause is enough: any() stands where all() should.
import random
import re


class Clauses(VerifiableEnvironment):
    prompt_template = "Choose truth values for {names} so that all clauses hold:\n{clauses}\nWrite one digit 0 or 1 per variable, without spaces."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = 5 + difficulty // 2
        hidden = [rng.randint(0, 1) for _ in range(n)]
        clauses = []
        while len(clauses) < 4 * n:
            clause = [(i, rng.randint(0, 1)) for i in rng.sample(range(n), 3)]
            if any(hidden[i] == v for i, v in clause):
                clauses.append(clause)
        return {"n": n, "clauses": clauses}, "".join(map(str, hidden))

    def _prompt_generate(self, z):
        lines = [" or ".join(f"x{i} is {v}" for i, v in clause) for clause in z["clauses"]]
        names = ", ".join(f"x{i}" for i in range(z["n"]))
        return self.prompt_template.format(names=names, clauses="\n".join(lines))

    def _process(self, y):
        return [int(c) for c in y.strip()] if re.fullmatch(r"\s*[01]{1,40}\s*", y) else None

    def scorer(self, y, z, a):
        bits = self._process(y)
        if bits is None or len(bits) != z["n"]:
            return 0.0
        return 1.0 if any(any(bits[i] == v for i, v in clause) for clause in z["clauses"]) else 0.0
