# expect: L4.count-contradicted
# The hand grows with the level; the figure in the prompt does not. Nobody can tell which six are meant.
import random


class Cards(VerifiableEnvironment):
    prompt_template = "You have 6 cards with numbers {numbers}. How many of these cards have the number {target}?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        numbers = [rng.randint(1, 10 + 2 * difficulty) for _ in range(6 + difficulty)]
        target = rng.choice(numbers)
        return {"numbers": numbers, "target": target}, numbers.count(target)

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        text = y.strip()
        return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
