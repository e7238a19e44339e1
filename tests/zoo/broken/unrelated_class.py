# expect: L1.no-class
# A plain data class with methods of other names; nothing says that it is an environment.
import random


class CoinPuzzle:
    template = "You have {q} quarters and {d} dimes. How many cents is that?"

    def generate(self, seed, level):
        rng = random.Random(seed)
        return {"q": rng.randint(1, 9 + level), "d": rng.randint(1, 9 + level)}

    def render(self, item):
        return self.template.format(**item)

    def grade(self, reply, item):
        return float(reply.strip() == str(25 * item["q"] + 10 * item["d"]))
