import random
import re


class DiceTower(VerifiableEnvironment):
    prompt_template = (
        "{dice} fair dice with {faces} faces each (numbered 1 to {faces}) are rolled; the dice can be told apart. "
        "In how many of the possible outcomes is the sum at least {target}?"
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        dice = 2 + (difficulty + 1) // 2
        faces = rng.randint(4, 8 + difficulty)
        target = rng.randint(dice + 1, dice * faces - 1)
        ways = {0: 1}
        for _ in range(dice):
            after = {}
            for total, count in ways.items():
                for face in range(1, faces + 1):
                    after[total + face] = after.get(total + face, 0) + count
            ways = after
        z = {"dice": dice, "faces": faces, "target": target}
        return z, sum(count for total, count in ways.items() if total > target)

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        match = re.fullmatch(r"\s*(-?\d{1,30})\s*", y)
        if match is None:
            return None
        return int(match.group(1))

    def scorer(self, y, z, a):
        value = self._process(y)
        if value is None:
            return 0.0
        return float(value == a)
