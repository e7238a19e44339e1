"""States, fates and funnels, worked out by hand."""

from __future__ import annotations

from collections import Counter

import pytest

from evoenv.runs.funnel import (
    DECIDED,
    FUNNEL,
    INSIDE,
    NO_FUNNEL,
    REFUSED,
    STATES,
    add_funnels,
    fate_of,
    funnel_of,
    refusals_of,
    state_of,
)


@pytest.mark.parametrize(
    ("layer", "reason", "active", "state"),
    [
        (None, None, None, "undecided"),
        (0, None, None, "l1"),
        (4, None, None, "l5"),
        (5, None, None, "judging"),
        (2, "layer", None, "l3"),
        (5, "too-hard", None, "too-hard"),
        (5, "admitted", None, "entering"),
        (5, "admitted", True, "pool"),
        (5, "admitted", False, "retired"),
        (None, "malformed", None, "malformed"),
    ],
)
def test_a_state_is_what_is_known_last(layer, reason, active, state):
    assert state_of(layer, reason, active=active) == state
    assert state in STATES


def test_every_fate_of_a_decision_is_known():
    assert {fate_of(state) for state in STATES} == {*REFUSED, *DECIDED, "judging", "undecided"}
    assert {fate_of(state) for state in INSIDE} == {"admitted"}


def test_a_funnel_before_the_decision_says_how_far_validation_is():
    fates = {"undecided": 3, "l1": 2, "l4": 1, "judging": 4}
    # ten proposed; three wait, two fail L1, one fails L4, four passed L5 and nothing more is known
    assert funnel_of(fates, decided=False) == (10, 5, 5, 5, 4, 4, None, None, None)


def test_a_funnel_after_the_decision_is_known_to_its_end():
    fates = {"l2": 3, "review": 1, "too-easy": 2, "batch-duplicate": 1, "admitted": 2}
    assert funnel_of(fates) == (9, 9, 6, 6, 6, 6, 5, 3, 2)


def test_questions_have_no_layers():
    assert funnel_of({"malformed": 3, "too-hard": 1, "admitted": 4}, questions=True) == (8, *[None] * 6, 5, 4)
    assert funnel_of({"undecided": 8}, questions=True, decided=False) == (8, *[None] * 8)


def test_funnels_add_up_and_what_nobody_knows_stays_unknown():
    assert add_funnels([]) == NO_FUNNEL
    open_step = funnel_of({"l1": 1, "judging": 1}, decided=False)
    assert add_funnels([open_step, open_step]) == (4, 2, 2, 2, 2, 2, None, None, None)
    assert add_funnels([open_step, funnel_of({"admitted": 5})]) == (7, 6, 6, 6, 6, 6, 5, 5, 5)
    assert len(NO_FUNNEL) == len(FUNNEL)


def test_the_layers_refuse_by_one_rule():
    fates = Counter({"l1": 2, "l5": 1, "gate": 4, "admitted": 3, "undecided": 1})
    assert refusals_of(fates) == {"layer": 3, "gate": 4}
    assert refusals_of({"admitted": 1}) == {}
