# expect: sound
import random


def alternating_sum(text):
    return sum(int(c) if i % 2 == 0 else -int(c) for i, c in enumerate(text))


class AlternatingDigits(VerifiableEnvironment):
    prompt_template = (
        "Take the digits of {number} from left to right with alternating signs, starting with plus, and add them up "
        "(for 5283 that is 5 - 2 + 8 - 3 = 8). What is the result?"
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        number = str(rng.randint(1, 9)) + "".join(str(rng.randint(0, 9)) for _ in range(4 + 2 * difficulty))
        return {"number": number}, alternating_sum(number)

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        try:
            return int(y)
        except (ValueError, TypeError):
            return None

    def scorer(self, y, z, a):
        value = self._process(y)
        if value is None:
            return 0.0
        return 1.0 if value == a else 0.0


if __name__ == "__main__":
    env = AlternatingDigits()
    for level in range(3):
        z, a = env._generate(level, level)
        print(env._prompt_generate(z), "->", a)
