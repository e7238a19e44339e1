import random
import re


class MirroredBits(VerifiableEnvironment):
    """Reverse the bits of a register."""

    prompt_template = (
        "A register holds the number {value}. Reverse the order of its bits (leading zeros included). "
        "Which number does it hold now? Answer in decimal."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        width = rng.randint(5, 8) + difficulty
        value = rng.randint(1, (1 << width) - 1)
        result = 0
        for bit in range(width):
            if value >> bit & 1:
                result |= 1 << (width - 1 - bit)
        return {"width": width, "value": value}, result

    def _prompt_generate(self, z):
        return self.prompt_template.format(value=z["value"])

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
