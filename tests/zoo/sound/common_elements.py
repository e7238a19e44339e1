# expect: sound
import random


class CommonElements(VerifiableEnvironment):
    """A set in any order; sometimes it is empty and the prompt says how to write that."""

    prompt_template = (
        "A = {a}\nB = {b}\nWhich numbers are in both lists? Write them in any order inside brackets, "
        "separated by commas, like [3, 1]. If there are none, write []."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = 5 + 2 * difficulty
        universe = range(1, 6 * n)
        a, b = rng.sample(universe, n), rng.sample(universe, n)
        return {"a": a, "b": b}, sorted(set(a) & set(b))

    def _prompt_generate(self, z):
        return self.prompt_template.format(a=z["a"], b=z["b"])

    def _process(self, y):
        text = y.strip()
        if not (text.startswith("[") and text.endswith("]")) or len(text) > 5000:
            return None
        inner = text[1:-1].strip()
        if not inner:
            return []
        try:
            return [int(part) for part in inner.split(",")]
        except ValueError:
            return None

    def scorer(self, y, z, a):
        found = self._process(y)
        if found is None or len(set(found)) != len(found):
            return 0.0
        return 1.0 if set(found) == set(a) else 0.0
