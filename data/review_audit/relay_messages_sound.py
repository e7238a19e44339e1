import collections
import random


class RelayMessages(VerifiableEnvironment):
    prompt_template = (
        "Radio stations can talk to each other directly along these links (both ways): {links}.\n"
        "A message travels from station {source} to station {target} over as few links as possible. "
        "How many different shortest ways are there?"
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        layers = 2 + difficulty // 2
        width = 2 + (difficulty + 1) // 2
        names = list(range(2 + layers * width))
        rng.shuffle(names)
        source, target = names[0], names[1]
        rows = [names[2 + i * width : 2 + (i + 1) * width] for i in range(layers)]
        links = [(source, v) for v in rows[0]] + [(v, target) for v in rows[-1]]
        for upper, lower in zip(rows, rows[1:]):
            for u in upper:
                for v in lower:
                    if rng.random() < 0.75 or u == upper[0] and v == lower[0]:
                        links.append((u, v))
        for row in rows:
            links += [(u, v) for u, v in zip(row, row[1:]) if rng.random() < 0.5]
        rng.shuffle(links)
        z = {"links": [list(link) for link in links], "source": source, "target": target}
        return z, self._count(z)

    def _count(self, z):
        neighbours = {}
        for u, v in z["links"]:
            neighbours.setdefault(u, []).append(v)
            neighbours.setdefault(v, []).append(u)
        dist, ways = {z["source"]: 0}, {z["source"]: 1}
        queue = collections.deque([z["source"]])
        while queue:
            u = queue.popleft()
            for v in sorted(neighbours[u]):
                if v not in dist:
                    dist[v] = dist[u] + 1
                    ways[v] = ways[u]
                    queue.append(v)
                elif dist[v] == dist[u] + 1:
                    ways[v] += ways[u]
        return ways[z["target"]]

    def _prompt_generate(self, z):
        links = ", ".join(f"{u}-{v}" for u, v in z["links"])
        return self.prompt_template.format(links=links, source=z["source"], target=z["target"])

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
