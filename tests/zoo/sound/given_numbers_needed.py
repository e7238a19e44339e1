# expect: sound
# The twin of given_numbers_not_needed: the numbers are those given.
import random
import re


class GivenNumbersNeeded(VerifiableEnvironment):
    prompt_template = (
        "Use each of the numbers {numbers} exactly once, with + and -, to make {target}. "
        "Write the expression without brackets, such as 3 + 4 - 5."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        numbers = [rng.randint(11, 60 + 20 * difficulty) for _ in range(3 + difficulty // 2)]
        signs = ["+", *(rng.choice("+-") for _ in numbers[1:])]
        target = sum(number if sign == "+" else -number for number, sign in zip(numbers, signs))
        text = str(numbers[0]) + "".join(f" {sign} {number}" for number, sign in zip(numbers[1:], signs[1:]))
        return {"numbers": sorted(numbers), "target": target}, text

    def _prompt_generate(self, z):
        return self.prompt_template.format(numbers=", ".join(map(str, z["numbers"])), target=z["target"])

    def _process(self, y):
        text = y.replace(" ", "")
        if not re.fullmatch(r"[0-9]{1,6}(?:[+-][0-9]{1,6}){0,12}", text):
            return None
        return [(sign or "+", int(number)) for sign, number in re.findall(r"([+-]?)([0-9]+)", text)]

    def scorer(self, y, z, a):
        parts = self._process(y)
        if parts is None or sorted(n for _, n in parts) != z["numbers"]:
            return 0.0
        return 1.0 if sum(n if sign == "+" else -n for sign, n in parts) == z["target"] else 0.0
