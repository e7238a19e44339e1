# expect: sound
import random
import re

LENGTHS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]


def is_leap(year):
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def month_length(year, month):
    return 29 if month == 2 and is_leap(year) else LENGTHS[month - 1]


class IsoDates(VerifiableEnvironment):
    prompt_template = "Which date is {days} days after {start}? Answer in the form YYYY-MM-DD."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        year, month = rng.randint(1990, 2030), rng.randint(1, 12)
        day = rng.randint(1, month_length(year, month))
        days = rng.randint(5, 40 + 60 * difficulty)
        start = f"{year:04d}-{month:02d}-{day:02d}"
        for _ in range(days):
            day += 1
            if day > month_length(year, month):
                day, month = 1, month + 1
                if month > 12:
                    month, year = 1, year + 1
        return {"start": start, "days": days}, f"{year:04d}-{month:02d}-{day:02d}"

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        match = re.fullmatch(r"\s*(\d{4})-(\d{1,2})-(\d{1,2})\s*", y)
        return tuple(map(int, match.groups())) if match else None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == self._process(a) else 0.0
