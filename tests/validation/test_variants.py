"""Wrong answers near a right one: few enough of them, whatever the right one looks like."""

from __future__ import annotations

from typing import Any

import pytest

from evoenv.validation.variants import variants
from tests.effort import assert_linear


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def test_lists_in_lists_are_changed_inside_as_far_as_a_few_levels() -> None:
    assert [1, [3, [3]]] in [variant.value for variant in variants([1, [2, [3]]])]
    assert len(variants(nested(40))) == len(variants(nested(5))) < 10


def test_a_free_constant_stays_and_a_thousand_of_them_are_no_harm() -> None:
    assert {variant.value[-4:] for variant in variants("3*x^2 + C")} == {" + C"}
    assert variants("x^2" + " + C" * 1000)


@pytest.mark.parametrize("text", ["a" + " " * 100_000 + "b", "x" + " + C" * 25_000, "a " * 50_000])
def test_time_is_linear_in_hostile_text(text: str) -> None:
    assert_linear(variants, text)
