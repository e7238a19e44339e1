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


def test_the_interval_of_f1_is_wilsons_of_the_shared_positives():
    # Wilson's interval of 5 in 10 is 0.2366 to 0.7634; 2p / (1 + p) of these
    assert Agreement(5, 3, 90, 2).f1_interval == pytest.approx((0.3827, 0.8658), abs=1e-4)
    assert Agreement(0, 0, 90, 0).f1_interval == (0.0, 1.0), "nothing is known"
    low, high = Agreement(20, 0, 5, 0).f1_interval
    assert 0.9 < low < high == 1.0
