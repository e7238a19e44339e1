# expect: L3.hash-order
# The oracle walks through a set of strings in whatever order the hashes give.
import random


class FriendChain(VerifiableEnvironment):
    prompt_template = "Messages were sent: {pairs}. Starting from {start}, always pass on to a person not yet visited whom the present one wrote to. Who is last?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        names = ["".join(rng.choice("klmnop") for _ in range(3)) for _ in range(8 + difficulty)]
        pairs = [rng.sample(names, 2) for _ in range(4 * len(names))]
        at, seen = names[0], {names[0]}
        while True:
            options = {v for u, v in pairs if u == at} - seen
            if not options:
                break
            at = next(iter(options))
            seen.add(at)
        return {"pairs": pairs, "start": names[0]}, at

    def _prompt_generate(self, z):
        pairs = ", ".join(f"{u} to {v}" for u, v in z["pairs"])
        return self.prompt_template.format(pairs=pairs, start=z["start"])

    def _process(self, y):
        return y.strip().lower() if y.strip().isalpha() else None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
