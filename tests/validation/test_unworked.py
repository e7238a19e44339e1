"""Answers that skip the work, as texts."""

from __future__ import annotations

from typing import Any

import pytest

from evoenv.validation.evidence import Drawn
from evoenv.validation.forms import plain_text
from evoenv.validation.probes import Solved
from evoenv.validation.unworked import restated, special_numbers, value_of


def solved(prompt: str, value: Any) -> Solved:
    return Solved(Drawn(0, 0, prompt, None, value), plain_text(value), plain_text, value)


@pytest.mark.parametrize(
    ("prompt", "answer", "expected"),
    [
        ("What is 12 + 7?", 19, ["12 + 7"]),
        ("Compute (3 - 5) * 4 now.", "-8", ["(3 - 5) * 4"]),
        ("There are 12 apples and 7 pears.", 19, []),
        ("Use 3, 4 and 12 to make 24.", "3 * 4 + 12", ["24 + 0", "24 * 1", "31 - 7"]),
        ("Make 24.", "3 * 4 + 12", []),
        (
            "Integrate 2*x + 1 over x.",
            "x**2 + x + C",
            ["Integral(2*x + 1, x)", "Derivative(2*x + 1, x)"],
        ),
        (
            "Integrate -2*x + 1 over x.",
            "-x**2 + x + C",
            ["Integral(-2*x + 1, x)", "Derivative(-2*x + 1, x)"],
        ),
        (
            "Integrate 2*x + 1. Write answers like `3*x**2*sin(x) + C`.",
            "x**2 + x + C",
            [
                "Integral(3*x**2*sin(x) + C, x)",
                "Derivative(3*x**2*sin(x) + C, x)",
                "Integral(2*x + 1, x)",
                "Derivative(2*x + 1, x)",
            ],
        ),
        ("Name the capital of France.", "Paris", []),
    ],
)
def test_the_question_given_back(prompt: str, answer: Any, expected: list[str]) -> None:
    assert [text for _, text in restated(solved(prompt, answer))] == expected


def test_numbers_that_are_none_take_the_places_of_numbers() -> None:
    texts = dict(special_numbers(solved("A circle?", [3, 4, 5])))
    assert texts["nan everywhere"] == "nan nan nan"
    assert texts["nan but for the last"] == "nan nan 5"
    assert dict(special_numbers(solved("A sum?", "3 + 4i")))["nan everywhere"] == "nan + nani"
    assert not list(special_numbers(solved("A word?", "Paris")))
    assert not list(special_numbers(solved("One number?", 5)))


def test_arithmetic_is_read_and_nothing_else() -> None:
    assert value_of("(3 + 4) * 2 - 1") == 13.0
    assert value_of("8 ÷ 2") == 4.0
    assert [value_of(text) for text in ("1 / 0", "2 ** 9999", "__import__('os')", "x + 1", "1 +", "9" * 400)] == [
        None
    ] * 6
