# expect: sound
import random


class RuleCount(VerifiableEnvironment):
    """Higher levels add rules, that is words, not size."""

    prompt_template = "Count the numbers from {lo} to {hi} that {rules}."
    RULES = (
        ("are divisible by 3", lambda n: n % 3 == 0),
        ("contain no digit 5", lambda n: "5" not in str(n)),
        ("have an even digit sum", lambda n: sum(map(int, str(n))) % 2 == 0),
        ("do not end in 1", lambda n: n % 10 != 1),
        ("are not divisible by 7", lambda n: n % 7 != 0),
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        lo = rng.randint(1, 100)
        hi = lo + rng.randint(30, 90)
        count = min(len(self.RULES), 1 + difficulty // 2)
        chosen = sorted(rng.sample(range(len(self.RULES)), count))
        answer = sum(all(self.RULES[i][1](n) for i in chosen) for n in range(lo, hi + 1))
        return {"lo": lo, "hi": hi, "rules": [self.RULES[i][0] for i in chosen]}, answer

    def _prompt_generate(self, z):
        return self.prompt_template.format(lo=z["lo"], hi=z["hi"], rules=" and ".join(z["rules"]))

    def _process(self, y):
        try:
            return int(y.strip())
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
