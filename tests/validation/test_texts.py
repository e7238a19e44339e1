"""Answers as text: forms, wrong variants, and the statistics that L4 compares levels with."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evoenv.validation.difficulty import correlation, ks_distance, ranks
from evoenv.validation.forms import FORMS, plain_text
from evoenv.validation.variants import variants

scalars = st.one_of(
    st.integers(), st.booleans(), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=20)
)
answers = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
)


@pytest.mark.parametrize(
    ("value", "form"),
    [
        ([1, 2, 3], "1 2 3"),
        ([1, 2, 3], "1, 2, 3"),
        ([1, 2, 3], "[1, 2, 3]"),
        ([1, 2, 3], "1\n2\n3"),
        ((1, 2), "(1, 2)"),
        ([[1, 2], [3, 4]], "1 2\n3 4"),
        ([(1, 2), (3, 4)], "1-2 3-4"),
        ([(1, 2), (3, 4)], "(1, 2), (3, 4)"),
        ({"x": 3, "y": 4}, "x=3, y=4"),
        ({"x": 3}, '{"x": 3}'),
        (True, "Yes"),
        (2.5, "2.50"),
        ({3, 1}, "1 3"),
        ((7, 5), "07:05"),
        ([], "NONE"),
    ],
)
def test_the_plain_forms_a_prompt_may_ask_for(value: Any, form: str) -> None:
    assert form in [render(value) for render in FORMS]


def test_variants_of_an_integer_by_hand() -> None:
    assert {v.kind: v.value for v in variants(5)} == {
        "plus-one": 6, "minus-one": 4, "plus-ten": 15, "plus-hundred": 105, "plus-thousand": 1005, "doubled": 10,
        "negated": -5, "zero": 0, "far": 1_000_008,
    }  # fmt: skip
    assert {v.kind for v in variants(0)} == {
        "plus-one",
        "minus-one",
        "plus-ten",
        "plus-hundred",
        "plus-thousand",
        "far",
    }
    assert {v.kind: v.value for v in variants(-42)}["digit-dropped"] == -4


def test_variants_of_a_text_of_numbers_keep_its_shape() -> None:
    assert {v.kind: v.value for v in variants("3 5 7")} == {
        "plus-one": "4 5 7", "last-plus-one": "3 5 8", "minus-one": "3 4 7", "dropped": "3 5",
        "extra": "3 5 7 4", "swapped": "7 5 3",
    }  # fmt: skip


def test_a_decimal_is_changed_beyond_any_tolerance() -> None:
    assert all(abs(float(v.value) - 2.5) > 0.05 * 2.5 for v in variants("2.500"))
    assert all(abs(v.value - 0.01) > 0.05 for v in variants(0.01) if not v.may_be_valid)


@given(answers)
def test_no_variant_equals_the_answer(value: Any) -> None:
    for variant in variants(value):
        assert variant.value != value or type(variant.value) is not type(value)


@given(answers)
def test_every_form_is_text_or_nothing(value: Any) -> None:
    assert isinstance(plain_text(value), str)
    assert all(text is None or isinstance(text, str) for text in (form(value) for form in FORMS))


def test_kolmogorov_smirnov_by_hand() -> None:
    assert ks_distance([1, 2, 3, 4], [1, 2, 3, 4]) == 0.0
    assert ks_distance([1, 2], [3, 4]) == 1.0
    assert ks_distance([1, 2, 3, 4], [2, 3, 4, 5]) == pytest.approx(0.25)
    assert ks_distance([1, 1, 1, 9], [1, 1]) == pytest.approx(0.25)


def test_rank_correlation_by_hand() -> None:
    assert ranks([10, 30, 20, 20]) == [1.0, 4.0, 2.5, 2.5]
    assert correlation([1, 2, 3], [2, 4, 6]) == pytest.approx(1.0)
    assert correlation([1, 2, 3], [1, 3, 2]) == pytest.approx(0.5)
    assert correlation([1, 1, 1], [1, 2, 3]) == 0.0


def test_the_free_constant_of_an_antiderivative_stays_as_it_is() -> None:
    found = variants("3*x**2/2 + x + C")
    assert len(found) >= 3
    assert all(one.value.endswith(" + C") and one.value != "3*x**2/2 + x + C" for one in found)
    assert variants("+ C")[0].value, "an answer that is nothing else is text like any other"
