import random


class ClosedStation(VerifiableEnvironment):
    """How a rail network falls apart when a station closes."""

    prompt_template = (
        "A rail network has the stations 0 to {last} and these lines between them: {lines}.\n"
        "Station {closed} is closed; it disappears together with its lines. Into how many separate networks do the "
        "remaining stations fall? A single station without lines counts as one network."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = 6 + 2 * difficulty
        closed = rng.randrange(n)
        lines = set()
        others = [v for v in range(n) if v != closed]
        for v in others:
            if rng.random() < 0.5:
                lines.add((min(v, closed), max(v, closed)))
        for _ in range(n // 2 + rng.randrange(n // 2)):
            u, v = rng.sample(others, 2)
            lines.add((min(u, v), max(u, v)))
        lines = [list(line) for line in sorted(lines)]
        return {"n": n, "closed": closed, "lines": lines}, self._networks(n, closed, lines)

    def _networks(self, n, closed, lines):
        neighbours = [[] for _ in range(n)]
        for u, v in lines:
            if closed not in (u, v):
                neighbours[u].append(v)
                neighbours[v].append(u)
        seen = {closed}
        count = 0
        for start in range(n):
            if start in seen:
                continue
            count += 1
            seen.add(start)
            stack = [start]
            while stack:
                for w in neighbours[stack.pop()]:
                    if w not in seen:
                        seen.add(w)
                        stack.append(w)
        return count

    def _prompt_generate(self, z):
        lines = ", ".join(f"{u}-{v}" for u, v in z["lines"])
        return self.prompt_template.format(last=z["n"] - 1, lines=lines, closed=z["closed"])

    def _process(self, y):
        try:
            return int(y.strip())
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
