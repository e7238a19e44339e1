import random


class HallBookings(VerifiableEnvironment):
    """Best income from overlapping bookings."""

    prompt_template = (
        "A hall can hold one event at a time; an event may begin at the moment another one ends. Requests:\n{requests}\n"
        "Choose requests that do not overlap. What is the largest total fee?"
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = 4 + 2 * difficulty
        requests = []
        for _ in range(n):
            start = rng.randint(0, 12 + 2 * difficulty)
            requests.append([start, start + rng.randint(1, 7), rng.randint(10, 99)])
        return {"requests": requests}, self._income(requests)

    def _income(self, requests):
        income, free_from = 0, 0
        for start, end, fee in sorted(requests, key=lambda request: request[1]):
            if start >= free_from:
                income += fee
                free_from = end
        return income

    def _prompt_generate(self, z):
        rows = [f"from hour {s} to hour {e}, fee {f}" for s, e, f in z["requests"]]
        return self.prompt_template.format(requests="\n".join(rows))

    def _process(self, y):
        try:
            return int(y.strip())
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
