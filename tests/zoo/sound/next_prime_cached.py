# expect: sound
import random


class PrimeGap(VerifiableEnvironment):
    """A sieve cached on self: a pure value, so it is no hidden state."""

    prompt_template = "How many prime numbers p satisfy {lo} <= p <= {hi}?"

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self._flags = None

    def _sieve(self):
        if self._flags is None:
            flags = bytearray([1]) * 5000
            flags[0:2] = b"\x00\x00"
            for i in range(2, 71):
                if flags[i]:
                    flags[i * i :: i] = bytearray(len(range(i * i, 5000, i)))
            self._flags = flags
        return self._flags

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        lo = rng.randint(2, 400 + 200 * difficulty)
        hi = lo + rng.randint(20, 60 + 20 * difficulty)
        return {"lo": lo, "hi": hi}, sum(self._sieve()[lo : hi + 1])

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        y = y.strip()
        return int(y) if y.isascii() and y.isdigit() and len(y) < 8 else None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
