import random


class Staircase(VerifiableEnvironment):
    """Number of ways up a staircase, modulo a prime."""

    prompt_template = (
        "A staircase has {n} steps. You climb it with strides of {strides} steps, in any order. "
        "In how many ways can you reach the top? Give the number modulo 1000003."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        strides = sorted({1} | set(rng.sample(range(2, 6 + difficulty), 2)))
        n = rng.randint(25, 40) + 10 * difficulty
        modulus = 1000007
        ways = [1]
        for step in range(1, n + 1):
            ways.append(sum(ways[step - stride] for stride in strides if stride <= step) % modulus)
        return {"n": n, "strides": strides}, ways[n]

    def _prompt_generate(self, z):
        strides = ", ".join(map(str, z["strides"][:-1])) + f" or {z['strides'][-1]}"
        return self.prompt_template.format(n=z["n"], strides=strides)

    def _process(self, y):
        """The answer as an integer, or None when it is not one."""
        text = y.strip().replace(",", "")
        try:
            return int(text)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        parsed = self._process(y)
        return 1.0 if parsed is not None and parsed == a else 0.0
