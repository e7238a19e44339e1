import random


class LongestTrail(VerifiableEnvironment):
    """The two huts of a park that are farthest apart."""

    prompt_template = (
        "The huts of a park are joined by trails that form a tree (hut-hut: km):\n{trails}\n"
        "Take the two huts that are farthest apart. How many kilometres of trail lie between them?"
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = 6 + 2 * difficulty
        names = list(range(n))
        rng.shuffle(names)
        trails = []
        for i in range(1, n):
            trails.append([names[rng.randrange(max(0, i - 4), i)], names[i], rng.randint(1, 9 + difficulty)])
        rng.shuffle(trails)
        return {"n": n, "trails": trails}, self._diameter(n, trails)

    def _diameter(self, n, trails):
        links = [[] for _ in range(n)]
        for u, v, km in trails:
            links[u].append((v, km))
            links[v].append((u, km))
        end, _ = self._farthest(links, 0)
        return self._farthest(links, end)[1]

    def _farthest(self, links, start):
        distance = {start: 0}
        stack = [start]
        while stack:
            u = stack.pop()
            for v, km in links[u]:
                if v not in distance:
                    distance[v] = distance[u] + km
                    stack.append(v)
        best = max(distance, key=distance.get)
        return best, distance[best]

    def _prompt_generate(self, z):
        return self.prompt_template.format(trails="\n".join(f"{u}-{v}: {km}" for u, v, km in z["trails"]))

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
