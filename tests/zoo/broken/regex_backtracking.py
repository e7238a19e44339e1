# expect: L5.scorer-slow
# Nested quantifiers: a long answer that ends in a letter takes exponential time.
import random
import re


class DeckOrder(VerifiableEnvironment):
    prompt_template = "The cards {cards} lie in a row. Move the card at position {i} (from 0) to the end, {n} times over. Write the new row, separated by spaces."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        cards = rng.sample(range(1, 53), 5 + difficulty)
        i, n = rng.randrange(len(cards)), rng.randint(1, 4)
        row = list(cards)
        for _ in range(n):
            row.append(row.pop(i))
        return {"cards": cards, "i": i, "n": n}, row

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        if not re.match(r"^(\d+\s*)+$", y):
            return None
        return [int(t) for t in y.split()][:100] if len(y) < 1000 else None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
