# expect: sound
import random

DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]


class Weekday(VerifiableEnvironment):
    """One of seven words, any case."""

    prompt_template = "Today is {today}. {story} Which day of the week is it then? Answer with its English name."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        day = rng.randrange(7)
        moves = [rng.choice((1, -1)) * rng.randint(2, 40) for _ in range(1 + difficulty)]
        return {"today": DAYS[day], "moves": moves}, DAYS[(day + sum(moves)) % 7]

    def _prompt_generate(self, z):
        story = " ".join(f"Go {abs(m)} days {'forward' if m > 0 else 'back'}." for m in z["moves"])
        return self.prompt_template.format(today=z["today"], story=story)

    def _process(self, y):
        word = y.strip().rstrip(".").capitalize()
        return word if word in DAYS else None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
