import random


class CountDivisors(VerifiableEnvironment):
    prompt_template = "How many positive whole numbers divide {number} without remainder? Count 1 and {number} too."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        number = 1
        for _ in range(2 + (difficulty + 1) // 2):
            number *= rng.choice([2, 3, 5, 7, 11, 13][: 3 + difficulty]) ** rng.randint(1, 2)
        count = 0
        i = 1
        while i * i <= number:
            if number % i == 0:
                count += 1 if i * i == number else 2
            i += 1
        return {"number": number}, count

    def _prompt_generate(self, z):
        return self.prompt_template.format(number=z["number"])

    def _process(self, y):
        """The answer as an integer, or None when it is not one."""
        text = y.strip().replace(",", "")
        try:
            return int(text)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        parsed = self._process(y)
        return 1.0 if parsed is not None and parsed == a else 0.0
