# expect: sound
import random


class Infected(VerifiableEnvironment):
    """F1 of the vertices that are reached; the instance keeps sets, tuples and integer keys."""

    prompt_template = (
        "People 0 to {last} meet as follows: {meetings}. Person {start} is infected at the beginning, and whoever meets "
        "an infected person is infected from then on. The meetings happen in the order given. "
        "Who is infected at the end? List the people, separated by commas."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = 6 + 2 * difficulty
        meetings = tuple(tuple(rng.sample(range(n), 2)) for _ in range(n))
        start = rng.choice(meetings[0])
        infected = {start}
        for u, v in meetings:
            if u in infected or v in infected:
                infected |= {u, v}
        friends = {p: {q for pair in meetings if p in pair for q in pair if q != p} for p in range(n)}
        return {"n": n, "meetings": meetings, "start": start, "friends": friends}, sorted(infected)

    def _prompt_generate(self, z):
        meetings = ", ".join(f"{u} with {v}" for u, v in z["meetings"])
        return self.prompt_template.format(last=z["n"] - 1, meetings=meetings, start=z["start"])

    def _process(self, y):
        tokens = y.replace(",", " ").split()
        if not tokens or any(not (t.isascii() and t.isdigit()) or len(t) > 5 for t in tokens):
            return None
        numbers = [int(t) for t in tokens]
        return set(numbers) if len(set(numbers)) == len(numbers) else None

    def scorer(self, y, z, a):
        named = self._process(y)
        if named is None or not named <= set(z["friends"]):
            return 0.0
        hit = len(named & set(a))
        if hit == 0:
            return 0.0
        precision, recall = hit / len(named), hit / len(a)
        return 2 * precision * recall / (precision + recall)
