import random
import re


class SubsetSum(VerifiableEnvironment):
    """Find numbers that add up to a planted target. Knob: how many numbers. Scorer: any valid subset is right."""

    prompt_template = (
        "Here are {n} positive integers, at positions 0 to {last}:\n\n"
        "{numbers}\n\n"
        "Choose some of the positions, each at most once, so that the integers at these positions add up to exactly "
        "{target}. At least one such choice exists; if there are several, any of them is right. "
        "Give the chosen positions, separated by spaces, in any order."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = 4 + 2 * difficulty
        numbers = rng.sample(range(1, 10 * (difficulty + 1) ** 2), n)
        target = sum(rng.sample(numbers, rng.randint(2, n - 1)))
        z = {"numbers": numbers, "target": target}
        return z, self._find_subset(numbers, target)

    def _find_subset(self, numbers, target):
        """Bit s of reachable[i] says whether some of the first i numbers add up to s; walk back from the target."""
        reachable = [1]
        for number in numbers:
            reachable.append(reachable[-1] | reachable[-1] << number)
        positions, rest = [], target
        for i in range(len(numbers) - 1, -1, -1):
            if not reachable[i] >> rest & 1:
                positions.append(i)
                rest -= numbers[i]
        return positions[::-1]

    def _prompt_generate(self, z):
        numbers = z["numbers"]
        lines = "\n".join(f"position {i}: {number}" for i, number in enumerate(numbers))
        return self.prompt_template.format(n=len(numbers), last=len(numbers) - 1, numbers=lines, target=z["target"])

    def _process(self, y):
        """The positions of the answer, or None if it holds anything but numbers."""
        if len(y) > 50_000:
            return None
        tokens = y.replace(",", " ").split()
        if not tokens or not all(re.fullmatch(r"[0-9]{1,6}", token) for token in tokens):
            return None
        return [int(token) for token in tokens]

    def scorer(self, y, z, a):
        """1 for any set of existing positions whose numbers add up to the target."""
        positions, numbers = self._process(y), z["numbers"]
        if positions is None or len(set(positions)) < len(positions) or max(positions) >= len(numbers):
            return 0.0
        return float(sum(numbers[i] for i in positions) == z["target"])
