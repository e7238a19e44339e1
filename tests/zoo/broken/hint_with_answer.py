# expect: L5.answer-in-prompt
# The hint at the end of the prompt is the answer.
import random


class AppleBaskets(VerifiableEnvironment):
    prompt_template = "{n} baskets hold {k} apples each, and {r} apples are rotten. How many good apples are there? (Hint: the answer is {hint}.)"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n, k = rng.randint(2, 9 + difficulty), rng.randint(3, 20)
        r = rng.randint(1, n)
        return {"n": n, "k": k, "r": r, "hint": n * k - r}, n * k - r

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        try:
            return int(y.strip())
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
