# expect: L2.rare-crash
# The scorer divides by the answer's size, which is zero for one instance in fifteen.
import random


class BalanceError(VerifiableEnvironment):
    prompt_template = "Deposits: {ins}. Withdrawals: {outs}. What is the balance?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        ins = [rng.randint(1, 6) for _ in range(2 + difficulty)]
        outs = [rng.randint(1, 6) for _ in range(2 + difficulty)]
        return {"ins": ins, "outs": outs}, sum(ins) - sum(outs)

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        try:
            return int(y.strip())
        except ValueError:
            return None

    def scorer(self, y, z, a):
        value = self._process(y)
        if value is None:
            return 0.0
        return max(0.0, 1.0 - abs(value - a) / abs(a))
