import random
import re


class FriendGroups(VerifiableEnvironment):
    """Groups of friends in a school class."""

    prompt_template = (
        "In a class of {n} pupils, numbered from 0, these pairs are friends: {pairs}. Two pupils are in the same group if "
        "they are friends or linked by a chain of friends. How many groups are there? A pupil without friends is a group."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = 8 + 4 * difficulty
        pairs = set()
        while len(pairs) < n // 2 + rng.randrange(n // 4):
            pairs.add(tuple(sorted(rng.sample(range(n), 2))))
        pairs = [list(p) for p in sorted(pairs)]
        return {"n": n, "pairs": pairs}, self._groups(n, pairs)

    def _groups(self, n, pairs):
        group = list(range(n))
        for u, v in pairs:
            old, new = group[u], group[v]
            group = [new if g == old else g for g in group]
        return len(set(group))

    def _prompt_generate(self, z):
        return self.prompt_template.format(n=z["n"], pairs=", ".join(f"{u}-{v}" for u, v in z["pairs"]))

    def _process(self, y):
        match = re.fullmatch(r"\s*(-?\d{1,30})\s*", y)
        if match is None:
            return None
        return int(match.group(1))

    def scorer(self, y, z, a):
        value = self._process(y)
        if value is None:
            return 0.0
        return float(value == a)
