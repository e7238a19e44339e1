from __future__ import annotations

import pytest

from evoenv.admission.audit import Agreement, agreement_table
from evoenv.records import Review


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


def test_each_rule_is_counted_on_the_same_reviews():
    a, r, u = Review("accept", ""), Review("reject", ""), Review("unparseable", "")
    reviews = {"bug1": (a, a, r), "bug2": (r, r, u), "fine1": (a, a, a), "fine2": (r, a, a), "unlabelled": (r, r, r)}
    labels = {"bug1": True, "bug2": True, "fine1": False, "fine2": False, "unreviewed": True}
    assert agreement_table(labels, reviews) == {
        "any-reject": Agreement(2, 1, 1, 0),
        "majority": Agreement(1, 0, 2, 1),
        "all-reject": Agreement(1, 0, 2, 1),
        "single": Agreement(1, 1, 1, 1),
    }
