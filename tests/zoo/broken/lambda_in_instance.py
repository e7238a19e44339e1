# expect: L2.not-serialisable
# The function that the task is about is stored as a lambda.
import random


class FunctionValue(VerifiableEnvironment):
    prompt_template = "Let f(x) = {a}x^2 + {b}x. What is f(f({x}))?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        a, b, x = rng.randint(1, 4), rng.randint(-5, 5), rng.randint(1, 4 + difficulty)
        f = lambda t: a * t * t + b * t
        return {"a": a, "b": b, "x": x, "f": f}, f(f(x))

    def _prompt_generate(self, z):
        return self.prompt_template.format(a=z["a"], b=z["b"], x=z["x"])

    def _process(self, y):
        try:
            return int(y.strip())
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
