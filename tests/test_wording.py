"""Counts and durations in words."""

from __future__ import annotations

import pytest

from evoenv.wording import duration, plural


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.04, "0.0 s"),
        (9.96, "10.0 s"),
        (42.4, "42 s"),
        (59.6, "1 min 00 s"),
        (425, "7 min 05 s"),
        (3599.5, "1 h 00 min"),
        (12000, "3 h 20 min"),
    ],
)
def test_durations_are_as_fine_as_they_are_short(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_counts_agree_with_their_nouns() -> None:
    assert [plural(count, "step") for count in (0, 1, 1200)] == ["0 steps", "1 step", "1,200 steps"]
