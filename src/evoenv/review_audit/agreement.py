"""How well verdicts agree with labels: the figures of the paper's table.

The positive class is "has bugs", which a reject claims.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

_Z = 1.959964
"""Of a normal distribution, 95% lie within so many standard deviations."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """Counts of one rule's verdicts against labels; a share without cases is 0."""

    true_positives: int
    false_positives: int
    true_negatives: int
    false_negatives: int

    @property
    def accuracy(self) -> float:
        right = self.true_positives + self.true_negatives
        return _share(right, right + self.false_positives + self.false_negatives)

    @property
    def precision(self) -> float:
        return _share(self.true_positives, self.true_positives + self.false_positives)

    @property
    def recall(self) -> float:
        return _share(self.true_positives, self.true_positives + self.false_negatives)

    @property
    def f1(self) -> float:
        return _share(2 * self.true_positives, 2 * self.true_positives + self.false_positives + self.false_negatives)

    @property
    def f1_interval(self) -> tuple[float, float]:
        """The 95% interval of F1.

        Of the cases that are positive by label or by verdict, a share p is so by both. F1 = 2p / (1 + p) rises
        with p: Wilson's interval of p, taken through it.
        """
        cases = self.true_positives + self.false_positives + self.false_negatives
        low, high = wilson(self.true_positives, cases)
        return 2 * low / (1 + low), 2 * high / (1 + high)


def wilson(count: int, total: int) -> tuple[float, float]:
    """Return Wilson's 95% interval of a share; everything is possible if there are no cases."""
    if not total:
        return 0.0, 1.0
    share, spread = count / total, _Z * _Z / total
    centre = (share + spread / 2) / (1 + spread)
    half = _Z * math.sqrt(share * (1 - share) / total + spread / (4 * total)) / (1 + spread)
    return max(0.0, centre - half), min(1.0, centre + half)


def tally(pairs: Iterable[tuple[bool, bool]]) -> Agreement:
    """Count (has bugs, is rejected) pairs."""
    counts = Counter(pairs)
    return Agreement(
        true_positives=counts[True, True],
        false_positives=counts[False, True],
        true_negatives=counts[False, False],
        false_negatives=counts[True, False],
    )


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
