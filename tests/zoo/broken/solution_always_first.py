# expect: L5.shortcut
# The list is never shuffled: the planted element is always the first number of the prompt.
import random


class OddSuspect(VerifiableEnvironment):
    prompt_template = "{numbers}: one of these numbers is not a multiple of {k}. Which one?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        k = rng.randint(3, 9)
        suspect = k * rng.randint(2, 30) + rng.randint(1, k - 1)
        numbers = [suspect] + [k * rng.randint(2, 30) for _ in range(4 + difficulty)]
        return {"numbers": numbers, "k": k}, suspect

    def _prompt_generate(self, z):
        return self.prompt_template.format(numbers=", ".join(map(str, z["numbers"])), k=z["k"])

    def _process(self, y):
        try:
            return int(y.strip())
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
