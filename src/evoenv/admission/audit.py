"""How well reviews agree with labels: the paper's table, for each aggregation rule.

The positive class is "has bugs", which a reject claims.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from evoenv.admission.review import Rule, review_passes
from evoenv.records import Review


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


def agreement(buggy: Mapping[str, bool], reviews: Mapping[str, Sequence[Review]], rule: Rule) -> Agreement:
    """Compare one rule's verdicts with labels, over the candidates that have both."""
    return tally((label, not review_passes(reviews[name], rule)) for name, label in buggy.items() if name in reviews)


def agreement_table(buggy: Mapping[str, bool], reviews: Mapping[str, Sequence[Review]]) -> dict[Rule, Agreement]:
    """All four rules on the same reviews."""
    rules: tuple[Rule, ...] = get_args(Rule)
    return {rule: agreement(buggy, reviews, rule) for rule in rules}


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
