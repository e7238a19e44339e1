# expect: sound
import random
from collections import Counter


class SubsetSumEnv(VerifiableEnvironment):
    """The stateful shape: the instance lives on self, any subset with the right sum is accepted."""

    prompt_template = (
        "Given the multiset S = {S}, find a non-empty sub-multiset whose elements sum to exactly {target}. "
        "Answer with the elements, separated by commas."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = 5 + difficulty
        k = rng.randint(2, n - 2)
        solution = [rng.randint(1, 50) for _ in range(k)]
        self.target = sum(solution)
        self.S = solution + [rng.randint(1, 50) for _ in range(n - k)]
        rng.shuffle(self.S)
        self.ref_answer = sorted(solution)

    def _prompt_generate(self):
        return self.prompt_template.format(S=self.S, target=self.target)

    def _process(self, response):
        try:
            return [int(t) for t in response.strip().strip("[]").split(",")]
        except ValueError:
            return None

    def scorer(self, parsed):
        if not parsed or sum(parsed) != self.target:
            return 0.0
        have, need = Counter(self.S), Counter(parsed)
        return 1.0 if all(have[x] >= c for x, c in need.items()) else 0.0
