# expect: sound
import random
import re


class MergeIntervals(VerifiableEnvironment):
    prompt_template = (
        "Merge all overlapping or touching closed intervals:\n{intervals}\n"
        "Write the merged intervals in increasing order, like [1,4] [6,9]."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = 3 + difficulty
        intervals = []
        for _ in range(n):
            lo = rng.randint(0, 12 * n)
            intervals.append([lo, lo + rng.randint(1, 14)])
        merged = []
        for lo, hi in sorted(intervals):
            if merged and lo <= merged[-1][1]:
                merged[-1][1] = max(merged[-1][1], hi)
            else:
                merged.append([lo, hi])
        return {"intervals": intervals}, " ".join(f"[{lo},{hi}]" for lo, hi in merged)

    def _prompt_generate(self, z):
        return self.prompt_template.format(intervals=" ".join(f"[{lo},{hi}]" for lo, hi in z["intervals"]))

    def _process(self, y):
        text = re.sub(r"\s+", "", y)
        if not re.fullmatch(r"(\[\d{1,6},\d{1,6}\],?)+", text):
            return None
        return [[int(lo), int(hi)] for lo, hi in re.findall(r"\[(\d+),(\d+)\]", text)]

    def scorer(self, y, z, a):
        found = self._process(y)
        return 1.0 if found is not None and found == self._process(a) else 0.0
