import random


class ShiftRoster(VerifiableEnvironment):
    """Fill as many shifts as possible."""

    prompt_template = (
        "Each person can take at most one shift, and each shift needs one person. Who could take which shifts:\n"
        "{wishes}\nWhat is the largest number of shifts that can be filled?"
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        people = 4 + difficulty
        shifts = 4 + difficulty + rng.randint(-1, 1)
        wishes = [sorted(rng.sample(range(shifts), rng.randint(1, min(3, shifts)))) for _ in range(people)]
        return {"wishes": wishes, "shifts": shifts}, self._filled(wishes)

    def _filled(self, wishes):
        holder = {}

        def place(person, tried):
            for shift in wishes[person]:
                if shift not in tried:
                    tried.add(shift)
                    if shift not in holder or place(holder[shift], tried):
                        holder[shift] = person
                        return True
            return False

        return sum(place(person, set()) for person in range(len(wishes)))

    def _prompt_generate(self, z):
        rows = [f"person {i}: shifts {', '.join(map(str, w))}" for i, w in enumerate(z["wishes"])]
        return self.prompt_template.format(wishes="\n".join(rows))

    def _process(self, y):
        """The answer as an integer, or None when it is not one."""
        text = y.strip().replace(",", "")
        try:
            return int(text)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        parsed = self._process(y)
        return 1.0 if parsed is not None and parsed == a else 0.0
