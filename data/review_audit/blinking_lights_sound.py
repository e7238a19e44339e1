import math
import random
import re


class BlinkingLights(VerifiableEnvironment):
    """When do all lights blink together again?"""

    prompt_template = (
        "{n} lights blink together now. After that they blink every {periods} seconds respectively. "
        "After how many seconds do all of them blink together for the first time again?"
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        periods = [rng.randint(4, 20 + 4 * difficulty) for _ in range(3 + difficulty // 2)]
        together = 1
        for period in periods:
            together = together * period // math.gcd(together, period)
        return {"periods": periods}, together

    def _prompt_generate(self, z):
        return self.prompt_template.format(n=len(z["periods"]), periods=", ".join(map(str, z["periods"])))

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
