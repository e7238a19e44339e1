"""Draws, epochs and rotation: by hand, and as a random history in which the invariants must hold."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from evoenv.config import PoolConfig, SolverConfig
from evoenv.pool.state import (
    Difficulty,
    Member,
    Outcome,
    PoolState,
    after_step,
    certain_draws,
    draw,
    rotate,
    start,
    starting_level,
)

SEEDS = tuple(f"seed{number}" for number in range(10))
FIXED = SolverConfig(difficulty=3)
LOTS = SolverConfig(difficulty=3, draw_rule="lot")
ADAPTIVE = SolverConfig(difficulty_rule="adaptive", responses_per_prompt=8)


def pool(*members: Member) -> PoolState:
    return PoolState({member.id: member for member in members})


def original(name, epochs=0):
    return Member(name, original=True, epochs=epochs)


def test_a_new_pool_has_the_originals_active_and_as_examples():
    state = start(SEEDS)
    assert state.active == state.few_shot == state.admitted == SEEDS
    assert state.original_share == 1.0


def test_state_cannot_be_changed_in_place():
    state = start(SEEDS)
    with pytest.raises(TypeError):
        state.members["x"] = Member("x")


# --------------------------------------------------------------------------- draws


def test_draws_repeat_for_the_same_step_and_differ_for_another():
    state = start(SEEDS)
    assert draw(state, (), 4, 64, 0, FIXED) == draw(state, (), 4, 64, 0, FIXED)
    assert draw(state, (), 4, 64, 0, FIXED) != draw(state, (), 5, 64, 0, FIXED)
    assert draw(state, (), 4, 64, 0, FIXED) != draw(state, (), 4, 64, 1, FIXED)


def test_draws_come_from_the_active_and_the_just_admitted_about_equally_often():
    state = pool(original("a"), Member("b"), Member("gone", active=False))
    counts = Counter(item.environment_id for item in draw(state, ("new",), 1, 3000, 0, FIXED))
    assert set(counts) == {"a", "b", "new"}
    assert all(900 < count < 1100 for count in counts.values())


def test_lots_come_from_the_active_and_the_just_admitted_about_equally_often():
    counts = Counter(item.environment_id for item in draw(start(SEEDS), ("new1", "new2"), 1, 12_000, 0, LOTS))
    assert set(counts) == {*SEEDS, "new1", "new2"}
    assert all(850 < count < 1150 for count in counts.values())  # 1000 each, standard deviation 30


def test_an_environment_more_changes_only_the_lots_that_it_wins():
    before, after = (draw(start(SEEDS), admitted, 1, 200, 0, LOTS) for admitted in ((), ("new",)))
    assert 0 < sum(item.environment_id == "new" for item in after) < 200
    assert all(new == old or new.environment_id == "new" for old, new in zip(before, after, strict=True))


def test_a_draw_is_certain_if_nobody_who_may_enter_could_win_it():
    state, may_enter = start(SEEDS), ("new1", "new2", "new3")
    certain = certain_draws(state, may_enter, 1, range(64), 0, LOTS)
    assert 0 < len(certain) < 64
    for admitted in ((), ("new1",), ("new2", "new3"), may_enter):
        draws = draw(state, admitted, 1, 64, 0, LOTS)
        assert all(draws[index] == item for index, item in certain.items())
    everybody = draw(state, may_enter, 1, 64, 0, LOTS)
    assert all(item.environment_id in may_enter for index, item in enumerate(everybody) if index not in certain)


def test_by_position_draws_are_certain_once_nobody_can_enter():
    state = start(SEEDS)
    assert certain_draws(state, ("new",), 1, range(64), 0, FIXED) == {}
    certain = certain_draws(state, (), 1, {5, 63}, 0, FIXED)
    assert certain == {index: draw(state, (), 1, 64, 0, FIXED)[index] for index in (5, 63)}
    assert certain_draws(state, (), 1, (), 0, FIXED) == {}


def test_instance_seeds_never_repeat_and_the_level_is_the_fixed_one():
    draws = [item for step in (1, 2) for item in draw(start(SEEDS), (), step, 500, 0, FIXED)]
    assert len({item.seed for item in draws}) == 1000
    assert {item.difficulty for item in draws} == {3}


def test_adaptive_draws_take_the_top_level_and_the_three_below():
    state = pool(Member("high", difficulty=Difficulty(level=6)), Member("low", difficulty=Difficulty(level=1)))
    levels = {"high": Counter(), "low": Counter(), "new": Counter()}
    for item in draw(state, ("new",), 1, 3000, 0, ADAPTIVE):
        levels[item.environment_id][item.difficulty] += 1
    assert set(levels["high"]) == {3, 4, 5, 6}
    assert set(levels["low"]) == {0, 1}
    assert set(levels["new"]) == {0}
    assert min(levels["high"].values()) > 180


def test_a_new_environment_is_calibrated_at_the_level_of_its_use():
    assert starting_level(FIXED) == 3
    assert starting_level(ADAPTIVE) == 0


# --------------------------------------------------------------------------- epochs and levels


def test_an_epoch_is_a_step_that_sampled_the_environment_however_often():
    state = after_step(start(("a", "b")), ["n"], [Outcome("a", 3, 1, 8)] * 5 + [Outcome("n", 3, 0, 8)], 8)
    assert {name: member.epochs for name, member in state.members.items()} == {"a": 1, "b": 0, "n": 1}
    assert state.active == ("a", "b", "n")
    assert state.few_shot == ("a", "b")


def test_admitting_twice_is_a_mistake_of_the_caller():
    with pytest.raises(ValueError, match="second time"):
        after_step(start(("a",)), ["a"], [], 8)


def test_the_level_rises_after_eight_groups_at_ninety_percent():
    state = start(("a",))
    for _ in range(7):
        state = after_step(state, [], [Outcome("a", 0, 8, 8)], 8)
    assert state.members["a"].difficulty == Difficulty(0, 56, 56)
    assert after_step(state, [], [Outcome("a", 0, 2, 8)], 8).members["a"].difficulty == Difficulty(1)  # 58/64 = .906
    assert after_step(state, [], [Outcome("a", 0, 1, 8)], 8).members["a"].difficulty == Difficulty(0)  # 57/64 = .891


def test_only_samples_at_the_top_level_count():
    state = pool(Member("a", difficulty=Difficulty(level=2)))
    state = after_step(state, [], [Outcome("a", 1, 8, 8), Outcome("a", 2, 3, 8)], 8)
    assert state.members["a"].difficulty == Difficulty(2, 3, 8)


# --------------------------------------------------------------------------- rotation


def test_rotation_happens_every_tenth_step_only():
    state = pool(original("a"), Member("b", epochs=9))
    assert rotate(state, 9, PoolConfig()) == (state, ())
    rotated, retired = rotate(state, 10, PoolConfig())
    assert retired == ("b",)
    assert rotated.active == ("a",)
    assert rotated.few_shot == ("a", "b")


def test_five_epochs_are_enough_and_four_are_not():
    state = pool(original("a"), Member("b", epochs=4), Member("c", epochs=5))
    assert rotate(state, 10, PoolConfig())[1] == ("c",)


def test_an_original_stays_while_its_leaving_would_break_the_floor():
    # 2 of 10 are originals: without one of them 1 of 9 = .11 would be left, so both stay
    fresh = [Member(f"g{number}") for number in range(8)]
    state = pool(original("a", 5), original("b", 7), *fresh)
    assert rotate(state, 10, PoolConfig())[1] == ()
    # 3 of 11: without one 2 of 10 = .2 exactly, which keeps the floor; the most used one goes
    state = pool(original("a", 5), original("b", 7), original("c", 6), *fresh)
    assert rotate(state, 10, PoolConfig())[1] == ("b",)


def test_generated_environments_leave_first_and_so_make_room_for_originals():
    # 2 originals and 8 generated, all due: the generated go, then one original; the last member stays
    state = pool(original("a", 5), original("b", 6), *[Member(f"g{number}", epochs=5) for number in range(8)])
    rotated, retired = rotate(state, 10, PoolConfig())
    assert retired == (*[f"g{number}" for number in range(8)], "b")
    assert rotated.active == ("a",)


def test_the_pool_keeps_its_smallest_size():
    state = pool(*[original(name, 5) for name in SEEDS])
    assert len(rotate(state, 10, PoolConfig())[0].active) == 1
    assert len(rotate(state, 10, PoolConfig(min_size=4))[0].active) == 4


class PoolHistory(RuleBasedStateMachine):
    """Any history of admissions, draws and rotations."""

    config = PoolConfig(rotate_every=2, max_epochs=2)

    @initialize(originals=st.integers(1, 6))
    def begin(self, originals):
        self.state = start(tuple(f"o{number}" for number in range(originals)))
        self.originals = frozenset(self.state.admitted)
        self.entered = list(self.state.admitted)
        self.left: list[str] = []
        self.step = 0

    @rule(new=st.integers(0, 4), groups=st.integers(0, 12), right=st.integers(0, 4))
    def train(self, new, groups, right):
        self.step += 1
        admitted = [f"g{len(self.entered) + number}" for number in range(new)]
        draws = draw(self.state, admitted, self.step, groups, 0, ADAPTIVE)
        assert draws == draw(self.state, admitted, self.step, groups, 0, ADAPTIVE)
        assert {item.environment_id for item in draws} <= {*self.state.active, *admitted}
        outcomes = [Outcome(item.environment_id, item.difficulty, right, 4) for item in draws]
        before = {name: member.epochs for name, member in self.state.members.items()}
        self.state = after_step(self.state, admitted, outcomes, 4)
        self.entered += admitted
        sampled = {item.environment_id for item in draws}
        for name, member in self.state.members.items():
            assert member.epochs == before.get(name, 0) + (name in sampled)

    @precondition(lambda self: self.step > 0)
    @rule()
    def turn(self):
        share = self.state.original_share
        after, retired = rotate(self.state, self.step, self.config)
        assert (after, retired) == rotate(self.state, self.step, self.config)
        assert all(self.state.members[name].epochs >= 2 for name in retired)
        assert set(self.state.active) - set(after.active) == set(retired)
        if self.originals & set(retired):
            assert after.original_share >= self.config.original_floor - 1e-9
        elif share >= self.config.original_floor:
            assert after.original_share >= share
        self.state = after
        self.left += retired

    @invariant()
    def nothing_is_lost_and_the_pool_lives(self):
        if not hasattr(self, "state"):
            return
        active, examples = set(self.state.active), set(self.state.few_shot)
        assert active
        assert list(self.state.admitted) == self.entered
        assert active | examples == set(self.entered)
        assert active & examples == active & self.originals
        assert self.originals <= examples
        assert len(self.left) == len(set(self.left))
        assert set(self.entered) - active == set(self.left)


TestPoolHistory = PoolHistory.TestCase
TestPoolHistory.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
