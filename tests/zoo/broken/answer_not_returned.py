# expect: L2.bad-result
# _generate returns only the instance and forgets the answer.
import random


class HotelKeys(VerifiableEnvironment):
    prompt_template = "A hotel has {floors} floors with {rooms} rooms each, {free} are free. How many rooms are taken?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        floors, rooms = rng.randint(2, 5 + difficulty), rng.randint(4, 20)
        free = rng.randint(1, floors * rooms)
        return {"floors": floors, "rooms": rooms, "free": free, "answer": floors * rooms - free}

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return float(self._process(y) == z["answer"])
