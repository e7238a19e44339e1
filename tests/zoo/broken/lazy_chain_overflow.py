# expect: L2.killed
# A lazy pipeline nests hundreds of thousands of iterators; evaluating it overflows the C stack.
import itertools
import random


class LazyShift(VerifiableEnvironment):
    prompt_template = "Start with {start}. Add 1 exactly {times} times. What is the result modulo {m}?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        start, m = rng.randint(0, 99), rng.randint(7, 97)
        times = rng.randint(600_000, 700_000)
        stream = iter([start])
        for _ in range(times):
            stream = itertools.chain(stream)
        return {"start": start, "times": times, "m": m}, (next(stream) + times) % m

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
