"""Numbers of things that a prompt says and shows, read by hand from a sentence each."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from evoenv.validation.counts import Count, check_counts, counts, listed
from evoenv.validation.evidence import Drawn
from tests.effort import assert_linear


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("You have 6 cards with numbers [1, 2, 3].", {"cards": Count(6, 3, presented=False)}),
        ("Here are 2 numbers: [1, 2].", {"numbers": Count(2, 2, presented=True)}),
        ("Given 3 distinct integers: [[1], [2]]", {"distinct integers": Count(3, 2, presented=True)}),
        ("Consider the 2 words: ['a', 'b,c']", {"words": Count(2, 2, presented=True)}),
        (
            "Here are 2 sets: [{[1, 2]}, {[3]}]",
            {"sets": Count(2, 2, presented=True)},
        ),  # nothing Python can build
        ("here are 0 numbers: []", {"numbers": Count(0, 0, presented=True)}),
    ],
)
def test_what_is_counted_and_listed_is_found(prompt: str, expected: dict[str, Count]) -> None:
    assert counts(prompt) == expected


@pytest.mark.parametrize(
    "prompt",
    [
        "There are 6 towns with roads [[1, 2], [3, 4]].",  # other things are listed
        "Given 3 lists: [1, 2], [3, 4], [5, 6].",  # each is one of them
        "Given 2 lists: a = [1, 2] and b = [3, 4].",
        "You have 2 lists: [1, 2]\n[3]",
        "Here are 2 lists: [1, 2, 3] (A) and [4, 5, 6] (B). How many are in both?",
        "You are given 2 lists: [1, 2, 3] (sorted) and [4].",
        "Given 2 vectors: [1, 2, 3] · [4, 5, 6]",
        "Given 2 moves: [1, 5, 3] -> [2, 6, 3]",
        "A 2 x 5 matrix: [[1, 2], [3, 4]]",
        "Draw 3 of the numbers: [1, 2]",
        "Choose 3 numbers from [1, 2]",
        "You have 6 dice in the range [1, 100]",
        "Here are 5 numbers: [1, 2, ...]",  # cut short
        "Here are 5 numbers: [x, y]",
        "Here are 2 strings: ['a]', 'b']",  # brackets in quotes are not followed
        "Here are 5 numbers: [1, 2",
        "Here are 2.5 numbers: [1]",
        "the 5-7 numbers: [1]",
    ],
)
def test_what_may_count_something_else_is_left_alone(prompt: str) -> None:
    assert counts(prompt) == {}


@pytest.mark.parametrize("text", ["[1]" + "\n" * 20_000, "[1]" + " " * 20_000, "1 a[" * 5000, "[1]" + "a" * 20_000])
def test_time_is_linear_in_hostile_text(text: str) -> None:
    assert_linear(lambda part: (listed(part), counts(f"Here are 1 numbers: {part}")), text)


def drawn(render: Callable[[int, int], str], seeds: int = 3) -> list[Drawn]:
    return [Drawn(seed, level, render(level, seed), None, 0) for level in (0, 1, 4) for seed in range(seeds)]


def cards(level: int, _seed: int) -> str:
    return f"You have 6 cards with numbers {[0] * (6 + level)}."


def test_a_fixed_number_that_was_right_once_is_reported() -> None:
    found = check_counts(drawn(cards))
    assert [item.code for item in found] == ["L4.count-contradicted"]
    assert found[0].message == "difficulty 1, seed 0: the prompt says 6 cards and shows 7"


@pytest.mark.parametrize(
    "render",
    [
        lambda level, seed: f"You have 6 cards with numbers {[0] * (7 + level)}.",  # never right: it may mean another
        lambda level, seed: f"You have 6 cards with numbers {[0] * (6 + level * (seed % 2))}.",  # right now and then
        lambda level, seed: f"You have {6 + seed} cards with numbers {[0] * (6 + level)}.",  # not fixed
        lambda level, seed: "Nothing." if seed == 0 else cards(level, seed),  # not in every instance
    ],
)
def test_without_certainty_nothing_is_said(render: Callable[[int, int], str]) -> None:
    assert check_counts(drawn(render)) == []


def test_two_instances_of_a_level_are_too_few() -> None:
    assert check_counts(drawn(cards, seeds=2)) == []


def test_what_is_presented_must_be_right_somewhere_at_every_level() -> None:
    [found] = check_counts(drawn(lambda level, seed: f"Here are {3 + level} numbers: {[seed] * (4 + level)}."))
    assert found.message == "difficulty 0, seed 0: the prompt says 3 numbers and shows 4"
    assert check_counts(drawn(lambda level, seed: f"Here are 3 numbers: {[0] * (3 + seed)}.")) == []
