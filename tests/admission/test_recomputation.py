"""The verdict of recomputation: every rule of it by hand, and what it lets into the pool."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evoenv.admission.recomputation import (
    FreshInstance,
    Recomputed,
    asymmetry_of,
    recomputation_admits,
    recomputation_of,
)
from evoenv.equivalence import canonical
from evoenv.records import Recomputation

INSTANCES = [FreshInstance(seed, 0, f"problem {seed}", str(seed)) for seed in range(3)]


def rows(*programs: str) -> list[list[Recomputed]]:
    """Programs as texts of one character per instance: `+` right, `-` failed, any other a wrong answer."""
    return [
        [Recomputed(None) if said == "-" else Recomputed("right" if said == "+" else said, said == "+") for said in row]
        for row in programs
    ]


@pytest.mark.parametrize(
    ("programs", "verdict"),
    [
        (("+++", "---", "---"), "confirmed"),
        (("+++", "ab+", "cd+"), "confirmed"),  # two that are wrong, each in its own way
        (("+++", "a++", "a++"), "contradicted"),  # one is fully right, but two others agree on something else
        (("++-", "+++", "+-+"), "confirmed"),
        (("++-", "-++", "+-+"), "unconfirmed"),  # together they are right everywhere, and none of them is
        (("a++", "+a+", "++a"), "unconfirmed"),  # never on the same instance
        (("a++", "a++", "+++"), "contradicted"),
        (("---", "---", "---"), "unconfirmed"),
        (("abc", "abd", "---"), "contradicted"),
        (("+++",), "confirmed"),
        ((), "unconfirmed"),
    ],
)
def test_what_programs_say_gives_the_verdict(programs: tuple[str, ...], verdict: str) -> None:
    assert recomputation_of(INSTANCES, rows(*programs)).verdict == verdict


def test_the_witness_is_where_most_agree_and_says_who() -> None:
    found = recomputation_of(INSTANCES, rows("ab+", "ab+", "+b+"))
    assert found.shares == pytest.approx((1 / 3, 1 / 3, 2 / 3))
    assert found.right == pytest.approx(4 / 9)
    witness = found.witness
    assert witness is not None
    assert (witness.seed, witness.answer, witness.programs, witness.reference) == (1, "b", (0, 1, 2), "1")


def test_without_instances_nothing_is_confirmed() -> None:
    assert recomputation_of((), [[], []]).verdict == "unconfirmed"


def test_answers_agree_as_numbers_and_as_texts_without_case_and_spaces() -> None:
    assert canonical("0.50") == canonical(" 1/2")
    assert canonical("1 2 3") == canonical("1 2  3")
    assert canonical("Yes") == canonical("yes")
    assert canonical("1/0") != canonical("0")
    assert canonical("9" * 200) == "9" * 200
    assert canonical("1e999999999") == "1e999999999"  # a number of a gigabyte is not written out


@given(st.lists(st.text("+-ab", min_size=3, max_size=3), max_size=5), st.randoms())
def test_the_verdict_does_not_depend_on_the_order_of_the_programs(programs: list[str], chance: object) -> None:
    shuffled = list(programs)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    verdict = recomputation_of(INSTANCES, rows(*programs)).verdict
    assert recomputation_of(INSTANCES, rows(*shuffled)).verdict == verdict


@pytest.mark.parametrize(
    ("kind", "verdict", "reading", "admitted"),
    [
        ("reading", "contradicted", True, True),
        ("reading", "confirmed", False, False),
        ("recomputing", "confirmed", False, True),
        ("recomputing", "unconfirmed", True, False),
        ("recomputing", "contradicted", True, False),
        ("both", "unconfirmed", True, True),
        ("both", "contradicted", True, False),
        ("both", "confirmed", False, False),
        ("recomputing", None, True, False),
        ("both", None, True, True),
    ],
)
def test_which_verdicts_admit(kind: str, verdict: str | None, reading: bool, admitted: bool) -> None:
    found = None if verdict is None else Recomputation(verdict, 1, ())  # type: ignore[arg-type]
    assert recomputation_admits(found, kind, reading_accepts=reading) is admitted  # type: ignore[arg-type]


def test_unconfirmed_candidates_enter_if_the_settings_say_so() -> None:
    found = Recomputation("unconfirmed", 1, ())
    assert recomputation_admits(found, "recomputing", reading_accepts=False, admits=("confirmed", "unconfirmed"))


def test_the_asymmetry_is_the_programs_share_minus_the_solvers() -> None:
    # Programs right on 3, 1 and 0 of three instances: 4/9 in all.
    found = recomputation_of(INSTANCES, rows("+++", "+ab", "abc"))
    assert asymmetry_of(found, 0.25) == pytest.approx(4 / 9 - 1 / 4)
    assert asymmetry_of(recomputation_of(INSTANCES, rows("+++")), 0.0) == 1.0
    assert asymmetry_of(recomputation_of(INSTANCES, rows("abc")), 1.0) == -1.0


def test_without_programs_or_calibration_there_is_no_asymmetry() -> None:
    assert asymmetry_of(None, 0.5) is None
    assert asymmetry_of(recomputation_of(INSTANCES, []), 0.5) is None
    assert asymmetry_of(recomputation_of(INSTANCES, rows("+++")), None) is None
