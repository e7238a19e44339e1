# expect: sound
import random
import re


class TruthTable(VerifiableEnvironment):
    """Assignments that satisfy a formula; any of them is right, written as A=1 B=0."""

    prompt_template = (
        "Find truth values that satisfy all clauses (! means not, | means or):\n{clauses}\n"
        "Write one value for each of the variables {names}, like A=1 B=0 C=1."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        names = [chr(65 + i) for i in range(4 + difficulty // 2)]
        hidden = {name: rng.randint(0, 1) for name in names}
        clauses = []
        while len(clauses) < 3 * len(names):
            clause = [(name, rng.randint(0, 1)) for name in rng.sample(names, 3)]
            if any(hidden[name] == value for name, value in clause):
                clauses.append(clause)
        return {"names": names, "clauses": clauses}, hidden

    def _prompt_generate(self, z):
        clauses = "\n".join(" | ".join(name if value else "!" + name for name, value in c) for c in z["clauses"])
        return self.prompt_template.format(clauses=clauses, names=" ".join(z["names"]))

    def _process(self, y):
        tokens = y.replace(",", " ").split()
        if not tokens or not all(re.fullmatch(r"[A-Z]=[01]", t) for t in tokens):
            return None
        values = {t[0]: int(t[2]) for t in tokens}
        return values if len(values) == len(tokens) else None

    def scorer(self, y, z, a):
        values = self._process(y)
        if values is None or set(values) != set(z["names"]):
            return 0.0
        return 1.0 if all(any(values[n] == v for n, v in clause) for clause in z["clauses"]) else 0.0
