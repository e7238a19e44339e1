from __future__ import annotations

import pytest

from evoenv.review_audit.agreement import Agreement, tally


@pytest.mark.parametrize(
    ("counts", "accuracy", "precision", "recall", "f1"),
    [  # the rows of the paper's table, in percent
        ((12, 4, 40, 23), 65.8, 75.0, 34.3, 47.1),
        ((11, 3, 41, 24), 65.8, 78.6, 31.4, 44.9),
        ((30, 5, 40, 4), 88.6, 85.7, 88.2, 87.0),
        ((7, 1, 43, 28), 63.3, 87.5, 20.0, 32.6),
        ((0, 0, 0, 0), 0.0, 0.0, 0.0, 0.0),
    ],
)
def test_figures_are_those_of_the_papers_table(counts, accuracy, precision, recall, f1):
    found = Agreement(*counts)
    figures = [100 * value for value in (found.accuracy, found.precision, found.recall, found.f1)]
    assert figures == pytest.approx([accuracy, precision, recall, f1], abs=0.05)


def test_pairs_are_counted_by_label_and_verdict():
    pairs = [(True, True)] * 4 + [(False, True)] * 3 + [(False, False)] * 2 + [(True, False)]
    assert tally(pairs) == Agreement(true_positives=4, false_positives=3, true_negatives=2, false_negatives=1)
