from functools import lru_cache
import random
import re

class ModularEnvironment(VerifiableEnvironment):
    prompt_template = "Here are the numbers: {numbers}. How many of them are divisible by 5? Give one integer."
    
    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = 5 + 2 * difficulty
        numbers = [rng.randint(1, 20 + 10 * difficulty) for _ in range(n)]
        a = sum(number % 5 == 0 for number in numbers)
        z = {"n": n, "numbers": numbers, "a": a}
        return z, a

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        text = y.strip()
        return int(text) if re.fullmatch(r"-?[0-9]{1,18}", text) else None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
