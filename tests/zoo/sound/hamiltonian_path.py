# expect: sound
import random


class HamiltonianPath(VerifiableEnvironment):
    """The reversed path is right too."""

    prompt_template = "Rooms A to {last} are connected by the doors {doors}. Find a way through all rooms that visits each exactly once. Write the rooms in order, joined by ->."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        rooms = [chr(65 + i) for i in range(6 + min(difficulty, 18))]
        way = rng.sample(rooms, len(rooms))
        doors = {frozenset(pair) for pair in zip(way, way[1:])}
        for _ in range(len(rooms) // 3):
            doors.add(frozenset(rng.sample(rooms, 2)))
        doors = sorted("".join(sorted(d)) for d in doors)
        rng.shuffle(doors)
        return {"rooms": rooms, "doors": doors}, way

    def _prompt_generate(self, z):
        return self.prompt_template.format(last=z["rooms"][-1], doors=", ".join(f"{d[0]}-{d[1]}" for d in z["doors"]))

    def _process(self, y):
        rooms = [part.strip().upper() for part in y.split("->")]
        return rooms if len(rooms) > 1 and all(len(r) == 1 and r.isalpha() for r in rooms) else None

    def scorer(self, y, z, a):
        way = self._process(y)
        if way is None or sorted(way) != sorted(z["rooms"]):
            return 0.0
        doors = set(z["doors"])
        return 1.0 if all("".join(sorted(step)) in doors for step in zip(way, way[1:])) else 0.0
