import random
import re


class MonotonicStack(VerifiableEnvironment):
    """Count how far each element stays above all that follow. Knob: array length. Scorer: exact match."""

    prompt_template = (
        "Consider the array A of {n} integers, with positions numbered from 0:\n\n"
        "A = [{array}]\n\n"
        "For each position i, let c(i) be the number of positions j > i such that A[i] is strictly greater than every "
        "element after position i up to and including position j. Find the sum of c(i) over all positions i. "
        "Give one integer."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = 4 + 3 * difficulty
        z = [rng.randrange(10 * (difficulty + 1)) for _ in range(n)]
        return z, self._total(z)

    def _total(self, array):
        """Scan with a stack of elements that still dominate: each new element is counted once by each of them."""
        stack, total = [], 0
        for value in array:
            while stack and stack[-1] <= value:
                stack.pop()
            total += len(stack)
            stack.append(value)
        return total

    def _prompt_generate(self, z):
        return self.prompt_template.format(n=len(z), array=", ".join(map(str, z)))

    def _process(self, y):
        """A non-negative integer, or None."""
        match = re.fullmatch(r"\s*([0-9]{1,18})\s*", y)
        return int(match.group(1)) if match else None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
