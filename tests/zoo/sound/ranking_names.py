# expect: sound
import random

NAMES = ["Ada", "Bo", "Cy", "Dee", "Eli", "Fay", "Gus", "Hal", "Ida", "Jon", "Kim", "Lea", "Moe", "Nia", "Oli", "Pia"]


class Ranking(VerifiableEnvironment):
    """A permutation with exactly one right order."""

    prompt_template = (
        "{table}\nRank the players by points, highest first; among equal points, fewer fouls come first; "
        "if those are equal too, the names decide alphabetically.\nWrite the names separated by commas."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        names = rng.sample(NAMES, min(len(NAMES), 4 + difficulty))
        rows = [[name, rng.randint(10, 14), rng.randint(0, 2)] for name in names]
        order = [name for name, points, fouls in sorted(rows, key=lambda r: (-r[1], r[2], r[0]))]
        return {"rows": rows}, order

    def _prompt_generate(self, z):
        table = "\n".join(f"{name}: {points} points, {fouls} fouls" for name, points, fouls in z["rows"])
        return self.prompt_template.format(table=table)

    def _process(self, y):
        parts = [part.strip() for part in y.split(",")]
        return parts if all(part.isalpha() for part in parts) else None

    def scorer(self, y, z, a):
        named = self._process(y)
        if named is None:
            return 0.0
        return float([n.lower() for n in named] == [n.lower() for n in a])
