import random
import re


class MeetingRooms(VerifiableEnvironment):
    """Fewest rooms for all meetings."""

    prompt_template = (
        "Meetings of a day, with start and end: {meetings}. A room is free for the next meeting at the very moment at "
        "which the last one ends. How many rooms are needed at least?"
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        meetings = []
        for _ in range(5 + 3 * difficulty):
            start = rng.randint(8, 17)
            meetings.append([start, start + rng.randint(1, 3)])
        return {"meetings": meetings}, self._rooms(meetings)

    def _rooms(self, meetings):
        events = [(start, 1) for start, _ in meetings] + [(end, -1) for _, end in meetings]
        events.sort(key=lambda event: (event[0], event[1]))
        busy = most = 0
        for _, change in events:
            busy += change
            most = max(most, busy)
        return most

    def _prompt_generate(self, z):
        return self.prompt_template.format(meetings=", ".join(f"{s}:00-{e}:00" for s, e in z["meetings"]))

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
