import random


class OneWayStreets(VerifiableEnvironment):
    prompt_template = (
        "The squares of an old town are numbered 0 to {last}. Its streets are one-way; a > b means that you can drive "
        "from a to b:\n{streets}\nYou start at square {start}. How many squares can you reach by car, "
        "counting the one where you start?"
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = 6 + 3 * difficulty
        streets = set()
        while len(streets) < n + n // 3:
            u, v = rng.sample(range(n), 2)
            streets.add((u, v))
        start = rng.randrange(n)
        streets = sorted(streets)
        rng.shuffle(streets)
        return {"n": n, "streets": [list(s) for s in streets], "start": start}, self._reachable(streets, start)

    def _reachable(self, streets, start):
        seen = {start}
        queue = [start]
        while queue:
            here = queue.pop(0)
            for u, v in streets:
                for near, far in ((u, v), (v, u)):
                    if near == here and far not in seen:
                        seen.add(far)
                        queue.append(far)
        return len(seen)

    def _prompt_generate(self, z):
        streets = ", ".join(f"{u} > {v}" for u, v in z["streets"])
        return self.prompt_template.format(last=z["n"] - 1, streets=streets, start=z["start"])

    def _process(self, y):
        try:
            return int(y.strip())
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
