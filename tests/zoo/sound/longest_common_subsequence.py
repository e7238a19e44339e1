# expect: sound
import random


class CommonSubsequence(VerifiableEnvironment):
    """Several longest subsequences may exist; graded by the length of a valid one."""

    prompt_template = "Find a longest common subsequence of the strings {s} and {t}. Write it as one string."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = 7 + 2 * difficulty
        s, t = ("".join(rng.choice("ACGT") for _ in range(n)) for _ in range(2))
        best = [[""] * (n + 1) for _ in range(n + 1)]
        for i in range(n):
            for j in range(n):
                if s[i] == t[j]:
                    best[i + 1][j + 1] = best[i][j] + s[i]
                else:
                    best[i + 1][j + 1] = max(best[i][j + 1], best[i + 1][j], key=len)
        return {"s": s, "t": t}, best[n][n]

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        text = y.strip().upper()
        return text if text and set(text) <= set("ACGT") else None

    @staticmethod
    def _is_subsequence(small, big):
        rest = iter(big)
        return all(c in rest for c in small)

    def scorer(self, y, z, a):
        text = self._process(y)
        if text is None or not self._is_subsequence(text, z["s"]) or not self._is_subsequence(text, z["t"]):
            return 0.0
        return len(text) / len(a)
