"""The number of instances behind what was drawn: values by hand."""

from __future__ import annotations

import random

import pytest

from evoenv.validation.evidence import Drawn
from evoenv.validation.space import estimate, spaces


def test_no_repetition_gives_a_lower_bound() -> None:
    size = estimate(36, 36)
    assert size is not None
    assert (size.size, size.at_least) == (36 * 35 // 6, True)


def test_one_draw_says_nothing() -> None:
    assert estimate(1, 1) is None


@pytest.mark.parametrize(
    ("draws", "distinct", "expected"),
    # With N = 2, two draws differ with probability 1/2: 1.5 different ones are expected; 1 of 100 can only be 1.
    [(100, 1, 1), (100, 2, 2), (1000, 10, 10)],
)
def test_a_space_that_was_seen_many_times_over_is_counted(draws: int, distinct: int, expected: int) -> None:
    size = estimate(draws, distinct)
    assert size is not None
    assert (size.size, size.at_least) == (expected, False)


def test_the_estimate_is_near_the_truth() -> None:
    rng = random.Random(5)
    seen = {rng.randrange(500) for _ in range(336)}
    size = estimate(336, len(seen))
    assert size is not None
    assert 400 < size.size < 620


def test_levels_are_counted_apart() -> None:
    drawn = [Drawn(seed, level, f"prompt {seed % (level + 2)}", None, 0) for level in (0, 3) for seed in range(30)]
    assert [(space.level, space.size, space.at_least) for space in spaces(drawn)] == [(0, 2, False), (3, 5, False)]
