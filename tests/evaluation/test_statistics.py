"""pass@k and intervals: values computed by hand, and properties that any estimate must have."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evoenv.evaluation.statistics import estimate, mean_pass_at, pass_at_k


@pytest.mark.parametrize(
    ("samples", "right", "k", "value"),
    [
        (1, 0, 1, 0.0),
        (1, 1, 1, 1.0),
        (4, 1, 1, 0.25),
        (4, 1, 2, 0.5),  # 1 - C(3,2)/C(4,2) = 1 - 3/6
        (4, 2, 2, 5 / 6),  # 1 - C(2,2)/C(4,2) = 1 - 1/6
        (4, 1, 4, 1.0),
        (16, 3, 8, 1 - 1287 / 12870),  # C(13,8) = 1287, C(16,8) = 12870
        (10, 0, 10, 0.0),
    ],
)
def test_pass_at_k_by_hand(samples: int, right: int, k: int, value: float) -> None:
    assert pass_at_k(samples, right, k) == pytest.approx(value, abs=1e-12)


@settings(deadline=None)
@given(st.integers(1, 9).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_pass_at_k_is_the_share_of_draws_with_a_right_answer(case: tuple[int, int, int]) -> None:
    samples, right, k = case
    draws = list(combinations([1] * right + [0] * (samples - right), k))
    assert pass_at_k(samples, right, k) == pytest.approx(sum(any(draw) for draw in draws) / len(draws))


@pytest.mark.parametrize(("samples", "right", "k"), [(4, 5, 1), (4, -1, 1), (4, 2, 0), (4, 2, 5)])
def test_pass_at_k_refuses_what_makes_no_sense(samples: int, right: int, k: int) -> None:
    with pytest.raises(ValueError, match="expected 0 ≤ right"):
        pass_at_k(samples, right, k)


def test_pass_at_is_averaged_over_problems_for_powers_of_two_and_the_largest_k() -> None:
    assert mean_pass_at([(6, 0), (6, 3)]) == {
        1: pytest.approx(0.25),
        2: pytest.approx((1 - 3 / 15) / 2),
        4: pytest.approx(0.5),
        6: pytest.approx(0.5),
    }
    assert mean_pass_at([]) == {}
    assert list(mean_pass_at([(1, 1)])) == [1]


def test_the_mean_is_over_problems_not_over_samples() -> None:
    found = estimate([[1, 1, 1, 1], [0]])
    assert (found.mean, found.n) == (0.5, 2)


def test_an_interval_is_the_same_for_the_same_seed_and_another_for_another() -> None:
    scores = [[i / 37, (i * i % 41) / 41] for i in range(37)]
    assert estimate(scores, seed=3) == estimate(scores, seed=3)
    assert estimate(scores, seed=3) != estimate(scores, seed=4)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.floats(0, 1), min_size=1, max_size=4), min_size=1, max_size=12))
def test_the_interval_holds_the_mean_and_stays_in_range(scores: list[list[float]]) -> None:
    found = estimate(scores, draws=200)
    assert -1e-12 <= found.low <= found.mean + 1e-12
    assert found.mean <= found.high + 1e-12 <= 1 + 2e-12


def test_the_interval_of_one_sample_a_problem_is_that_of_the_binomial() -> None:
    """Half of 400 problems right: ±1.96·√(0.25/400) = ±0.049."""
    found = estimate([[float(i % 2)] for i in range(400)], draws=4000)
    assert found.high - found.low == pytest.approx(2 * 0.049, abs=0.008)


def test_samples_are_resampled_too() -> None:
    """Two problems that are each right half of the time: over problems alone nothing would vary."""
    found = estimate([[0.0, 1.0]] * 2)
    assert found.low < 0.5 < found.high


def test_more_problems_give_a_narrower_interval() -> None:
    rng = np.random.default_rng(0)
    wide, narrow = (estimate([[float(rng.random() < 0.4)] for _ in range(count)]) for count in (30, 1000))
    assert narrow.high - narrow.low < (wide.high - wide.low) / 3


def test_all_wrong_or_all_right_is_not_certainty() -> None:
    """Clopper–Pearson: 0 of 10 gives 1 − 0.025^(1/10) = 0.308."""
    none, every = estimate([[0.0, 0.0]] * 10), estimate([[1.0]] * 10)
    assert (none.low, none.high) == (0.0, pytest.approx(0.3085, abs=1e-4))
    assert (every.low, every.high) == (pytest.approx(0.6915, abs=1e-4), 1.0)


def test_nothing_gives_no_number() -> None:
    found = estimate([])
    assert found.n == 0
    assert math.isnan(found.mean)


def test_intervals_of_repeated_experiments_hold_the_truth_about_as_often_as_they_say() -> None:
    """60 problems of two samples, each problem with its own chance of success drawn around 0.3."""
    rng = np.random.default_rng(7)
    held = 0
    for trial in range(120):
        chances = rng.beta(1.5, 3.5, size=60)
        scores = [[float(rng.random() < chance) for _ in range(2)] for chance in chances]
        found = estimate(scores, seed=trial, draws=400)
        held += found.low <= 0.3 <= found.high
    assert 0.88 <= held / 120 <= 1.0
