import random


class BinaryOnes(VerifiableEnvironment):
    prompt_template = "Write all whole numbers from 1 to {n} in binary. How many ones do you write in all?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = rng.randint(8, 40 + 60 * difficulty)
        ones = sum(bin(number).count("1") for number in range(1, n))
        return {"n": n}, ones

    def _prompt_generate(self, z):
        return self.prompt_template.format(n=z["n"])

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
