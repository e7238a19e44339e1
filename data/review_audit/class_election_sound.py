import collections
import random
import re


class ClassElection(VerifiableEnvironment):
    """Count ballots and name the winner."""

    prompt_template = (
        "The ballots of a class election, one name each:\n{ballots}\n"
        "Who has the most votes? If several have equally many, the one whose name comes first in the alphabet wins. "
        "Answer with the name."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        names = ["Ada", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gus", "Hana", "Ivo", "Jana", "Kim", "Lea"]
        running = rng.sample(names, min(4 + difficulty // 2, len(names)))
        ballots = [rng.choice(running) for _ in range(8 + 4 * difficulty)]
        votes = collections.Counter(ballots)
        winner = min(votes, key=lambda name: (-votes[name], name))
        return {"ballots": ballots}, winner

    def _prompt_generate(self, z):
        return self.prompt_template.format(ballots=", ".join(z["ballots"]))

    def _process(self, y):
        text = y.strip()
        return text if re.fullmatch(r"[A-Za-z]{1,200}", text) else None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
