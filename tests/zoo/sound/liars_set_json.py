# expect: sound
import random
import re


class FaultyServers(VerifiableEnvironment):
    """A set as the reference; the answer is a list in any order, possibly empty."""

    prompt_template = "Servers report (server: requests, errors): {rows}. Which servers have an error rate of more than {p} percent? Answer with a list like [\"s1\", \"s4\"]; write [] if there are none."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        rows = {f"s{i}": (rng.randint(50, 400), rng.randint(0, 30)) for i in range(4 + difficulty)}
        p = rng.randint(4, 15)
        return {"rows": rows, "p": p}, {s for s, (n, e) in rows.items() if 100 * e > p * n}

    def _prompt_generate(self, z):
        rows = "; ".join(f"{s}: {n}, {e}" for s, (n, e) in z["rows"].items())
        return self.prompt_template.format(rows=rows, p=z["p"])

    def _process(self, y):
        text = re.sub(r"[\s'\"]", "", y)
        if text == "[]":
            return set()
        if not re.fullmatch(r"\[s\d{1,3}(?:,s\d{1,3})*\]", text):
            return None
        names = text[1:-1].split(",")
        return set(names) if len(set(names)) == len(names) else None

    def scorer(self, y, z, a):
        named = self._process(y)
        return 1.0 if named is not None and named == set(a) else 0.0
