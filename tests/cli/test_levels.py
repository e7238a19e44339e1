"""Levels on the command line: one spelling for `eval`, `compare` and `export`."""

from __future__ import annotations

import pytest

from evoenv.cli.common import parse_levels
from evoenv.errors import InputError


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("0", (0,)),
        ("0,1,2", (0, 1, 2)),
        ("0-3", (0, 1, 2, 3)),
        (" 0 - 2 , 5", (0, 1, 2, 5)),
        ("5, 0,2-3", (5, 0, 2, 3)),
        ("0-2, 5,5,1", (0, 1, 2, 5)),
    ],
)
def test_levels_are_lists_and_ranges_each_once_in_the_order_given(text: str, levels: tuple[int, ...]) -> None:
    assert parse_levels(text) == levels


@pytest.mark.parametrize("text", ["", "a", "-1", "1-0", "0,,1", "0-", "0-2-3", "1.5", "0-100000", "٣", "1" * 9])
def test_what_is_no_level_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"--levels is .*; expected levels of 0 or more.*as 0,1,2 or 0-3"):
        parse_levels(text, "--levels")
