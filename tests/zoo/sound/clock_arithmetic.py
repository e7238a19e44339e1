# expect: sound
import random
import re


class ClockArithmetic(VerifiableEnvironment):
    prompt_template = (
        "A train leaves at {start} (24-hour clock). The trip has these parts, in minutes: {legs}. "
        "When does it arrive? Write the time of day as HH:MM, like 07:35."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        start = rng.randrange(24 * 60)
        legs = [rng.randint(5, 170) for _ in range(2 + difficulty)]
        end = (start + sum(legs)) % (24 * 60)
        return {"start": start, "legs": legs}, f"{end // 60:02d}:{end % 60:02d}"

    def _prompt_generate(self, z):
        start = f"{z['start'] // 60:02d}:{z['start'] % 60:02d}"
        return self.prompt_template.format(start=start, legs=", ".join(map(str, z["legs"])))

    def _process(self, y):
        match = re.fullmatch(r"\s*(\d{1,2}):(\d{2})\s*", y)
        if not match:
            return None
        hours, minutes = int(match.group(1)), int(match.group(2))
        return (hours, minutes) if hours < 24 and minutes < 60 else None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == self._process(a) else 0.0
