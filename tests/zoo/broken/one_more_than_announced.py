# expect: L4.count-contradicted
# A number is added after the others were counted: at no level are there as many as the prompt says.
import random


class SumOfSquares(VerifiableEnvironment):
    prompt_template = "Here are {n} numbers: {numbers}. What is the sum of their squares? Answer with one integer."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        numbers = [rng.randint(-9, 9) for _ in range(4 + difficulty)]
        n = len(numbers)
        numbers.append(rng.randint(10, 20))
        return {"n": n, "numbers": numbers}, sum(number * number for number in numbers)

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        text = y.strip()
        return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
