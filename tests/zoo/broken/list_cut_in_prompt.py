# expect: L4.hidden-latent
# Long lists are shortened with dots in the prompt, but the oracle uses all of them.
import random


class ShortenedList(VerifiableEnvironment):
    prompt_template = "How many of these numbers are multiples of 3: {shown}?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        numbers = [rng.randint(1, 99) for _ in range(8 + 4 * difficulty)]
        return {"numbers": numbers}, sum(n % 3 == 0 for n in numbers)

    def _prompt_generate(self, z):
        numbers = z["numbers"]
        shown = ", ".join(map(str, numbers[:10])) + (", ..." if len(numbers) > 10 else "")
        return self.prompt_template.format(shown=shown)

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
