import random


class BusTimetable(VerifiableEnvironment):
    """Waiting times at a bus stop."""

    prompt_template = (
        "Lines {lines} all leave a stop at 6:00 and then at regular intervals. You come to the stop {arrivals} minutes "
        "after 6:00, once for each line in this order, and each time take the next bus of that line (one that leaves just "
        "then can still be caught). How many minutes do you wait in all?"
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        count = 3
        intervals = [rng.randint(5, 25) for _ in range(count)]
        arrivals = [rng.randint(1, 120) for _ in range(count)]
        wait = sum(-arrival % interval for interval, arrival in zip(intervals, arrivals))
        return {"intervals": intervals, "arrivals": arrivals}, wait

    def _prompt_generate(self, z):
        lines = ", ".join(f"{i} (every {m} minutes)" for i, m in enumerate(z["intervals"], 1))
        return self.prompt_template.format(lines=lines, arrivals=", ".join(map(str, z["arrivals"])))

    def _process(self, y):
        try:
            return int(y.strip())
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
