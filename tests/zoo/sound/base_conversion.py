# expect: sound
import random

DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


class BaseConversion(VerifiableEnvironment):
    prompt_template = "The number {shown} is written in base {source}. Write it in base {target} (digits 0-9, then a-z)."

    def _write(self, n, base):
        out = ""
        while n:
            n, digit = divmod(n, base)
            out = DIGITS[digit] + out
        return out or "0"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        source, target = rng.sample(range(2, 17), 2)
        n = rng.randint(20, 10 ** (2 + difficulty // 2))
        return {"shown": self._write(n, source), "source": source, "target": target}, self._write(n, target)

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        text = y.strip().lower()
        if not text or len(text) > 100 or not text.isascii() or not text.isalnum():
            return None
        return text.lstrip("0") or "0"

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
