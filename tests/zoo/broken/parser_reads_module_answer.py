# expect: L5.parser-leaks
# The last answer sits in a module-level dict and fills in for unreadable text.
import random

LAST = {}


class LibraryShelves(VerifiableEnvironment):
    prompt_template = "A library has {books} books; a shelf takes {per} books and a room {rooms} shelves. How many rooms are needed?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        books, per, rooms = rng.randint(500, 3000 * (difficulty + 1)), rng.randint(15, 40), rng.randint(3, 9)
        shelves = -(-books // per)
        LAST["answer"] = -(-shelves // rooms)
        return {"books": books, "per": per, "rooms": rooms}, LAST["answer"]

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        try:
            return int(y.strip())
        except ValueError:
            return LAST.get("answer")

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
