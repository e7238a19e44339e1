import random


class NumberMachine(VerifiableEnvironment):
    prompt_template = (
        "A machine makes numbers. It starts with {start}; each next number is {factor} times the last one plus {step}, "
        "of which only the remainder by 9973 is kept. Which number does it make after {rounds} rounds?"
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        z = {
            "start": rng.randint(1, 99),
            "factor": rng.randint(12, 99),
            "step": rng.randint(1, 99),
            "rounds": rng.randint(3, 5) + difficulty,
        }
        value = z["start"]
        for _ in range(z["rounds"]):
            value = (value * z["factor"] + z["step"]) % 9973
        return z, value

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

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
