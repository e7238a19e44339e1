"""The number of instances behind what was drawn: values by hand."""

from __future__ import annotations

import random

import pytest

from evoenv.validation.evidence import Drawn
from evoenv.validation.space import check_one_number, estimate, spaces


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


def subsets(sizes: int) -> list[Drawn]:
    """Sixty prompts in which one number of `sizes` tells the answer, and the rest is for show."""
    return [
        Drawn(seed, seed % 3, f"Of {seed}, {seed + 7} and more, choose {seed % sizes}.", None, 10 * (seed % sizes))
        for seed in range(60)
    ]


def test_one_number_of_few_values_that_tells_the_answer_is_reported() -> None:
    [found] = check_one_number(subsets(9))
    assert found.code == "L4.small-space"
    assert found.message.startswith("the number 1 from the end of the prompt has 9 values at all levels together")


def test_a_number_of_many_values_or_one_that_leaves_answers_open_is_not() -> None:
    assert check_one_number(subsets(21)) == []
    drawn = subsets(9)
    assert check_one_number([*drawn[:-1], Drawn(59, 2, drawn[-1].prompt, None, 5)]) == []


def test_a_number_that_tells_only_the_best_value_is_not() -> None:
    drawn = [
        Drawn(one.seed, one.difficulty, one.prompt, None, one.reference, full_reference=False) for one in subsets(9)
    ]
    assert check_one_number(drawn) == []


def test_a_number_that_is_the_answer_is_left_to_the_checks_for_leaks() -> None:
    drawn = [Drawn(seed, 0, f"{seed}: the answer is {seed % 5}", None, seed % 5) for seed in range(60)]
    assert check_one_number(drawn) == []


def test_what_may_be_a_coincidence_is_not_reported() -> None:
    # Seven repetitions, each of which would meet the usual answer (9 of 10) by chance: 0.9 to the seventh is 0.48.
    drawn = [Drawn(seed, 0, f"{seed % 3} of {seed}", None, int(seed == 2)) for seed in range(10)]
    assert check_one_number(drawn) == []
    assert check_one_number([]) == []
