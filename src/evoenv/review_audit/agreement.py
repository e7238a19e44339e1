"""How well verdicts agree with labels: the figures of the paper's table.

The positive class is "has bugs", which a reject claims.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass


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
