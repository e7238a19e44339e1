import random
import re


class BoundedIntervalIntersection(VerifiableEnvironment):
    """Count subsets of intervals that share a long stretch. Knobs: N and K. Scorer: ratio to the true count."""

    prompt_template = (
        "An interval [l, r] is the set of all real numbers from l to r; its length is r - l. "
        "Here are {n} intervals, one per line (equal ones are still different intervals):\n\n"
        "{intervals}\n\n"
        "Count the non-empty subsets of these intervals whose common intersection has length at least {k}. "
        "A single interval is a subset whose intersection is the interval itself. Give one integer."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        span = 10 + 5 * difficulty
        intervals = []
        for _ in range(3 + 3 * difficulty // 2):
            left = rng.randint(0, span)
            intervals.append((left, left + rng.randint(1, span)))
        longest = max(right - left for left, right in intervals)
        k = rng.randint(1, (longest + 1) // 2)  # at least one interval is long enough
        return {"intervals": intervals, "k": k}, self._count(intervals, k)

    def _count(self, intervals, k):
        """Cut k off each right end: subsets that share a point remain. Count each at its rightmost left end."""
        total, open_ends = 0, []
        for left, right in sorted(intervals):
            if right - left >= k:
                open_ends = [end for end in open_ends if end >= left]
                total += 2 ** len(open_ends)
                open_ends.append(right - k)
        return total

    def _prompt_generate(self, z):
        lines = "\n".join(f"[{left}, {right}]" for left, right in z["intervals"])
        return self.prompt_template.format(n=len(z["intervals"]), intervals=lines, k=z["k"])

    def _process(self, y):
        """A non-negative integer, or None."""
        match = re.fullmatch(r"\s*([0-9]{1,1000})\s*", y)
        return int(match.group(1)) if match else None

    def scorer(self, y, z, a):
        """1 for the true count; otherwise at most one half, and quickly less the further off the answer is."""
        count = self._process(y)
        if count == a:
            return 1.0
        if not count:
            return 0.0
        return 0.5 * (min(count, a) / max(count, a)) ** 4
