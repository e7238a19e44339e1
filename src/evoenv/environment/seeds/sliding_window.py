import random
import re
from collections import deque


class SlidingWindow(VerifiableEnvironment):
    """Minimum of every window of an array. Knobs: array length and window size. Scorer: element-wise."""

    prompt_template = (
        "A window of {k} consecutive elements slides over the following array of {n} integers, "
        "from the left end to the right end, one position at a time.\n\n"
        "Array: {array}\n\n"
        "Find the minimum of each of the {count} windows. Give the {count} minima in order, from the leftmost "
        "window to the rightmost, separated by spaces."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = 5 + 3 * difficulty
        k = rng.randint(2, 2 + n // 6)
        array = [rng.randrange(10 * (difficulty + 1) ** 2) for _ in range(n)]
        return {"array": array, "k": k}, self._window_minima(array, k)

    def _window_minima(self, array, k):
        """One pass with a queue of positions whose values increase: the front is the window's minimum."""
        queue, minima = deque(), []
        for i, value in enumerate(array):
            while queue and array[queue[-1]] >= value:
                queue.pop()
            queue.append(i)
            if queue[0] <= i - k:
                queue.popleft()
            if i >= k - 1:
                minima.append(array[queue[0]])
        return minima

    def _prompt_generate(self, z):
        array, k = z["array"], z["k"]
        return self.prompt_template.format(k=k, n=len(array), count=len(array) - k + 1, array=" ".join(map(str, array)))

    def _process(self, y):
        """The integers of the answer, or None if it holds anything but integers."""
        if len(y) > 50_000:
            return None
        tokens = y.replace(",", " ").split()
        if not tokens or not all(re.fullmatch(r"[0-9]{1,12}", token) for token in tokens):
            return None
        return [int(token) for token in tokens]

    def scorer(self, y, z, a):
        """The share of windows that are right; an answer of the wrong length earns nothing."""
        minima = self._process(y)
        if minima is None or len(minima) != len(a):
            return 0.0
        return sum(mine == true for mine, true in zip(minima, a)) / len(a)
