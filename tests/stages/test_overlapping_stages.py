"""Stages that overlap: the same requests and the same results, whatever finishes first and whatever breaks."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest
from loop_support import contents, open_run
from overlap_support import HoldingPolicy, differences, overlap_config, respond

from evoenv.engines.scripted import Fault, ScriptedPolicy
from evoenv.errors import PolicyError
from evoenv.records import Message, Request
from evoenv.run import advance
from evoenv.stages.conversation import Conversation
from evoenv.stages.sampling import ask
from evoenv.store.store import RequestRecord
from tests.effort import HANG_S

pytestmark = [pytest.mark.sandbox, pytest.mark.slow, pytest.mark.usefixtures("validated_anew")]

PROGRAM = Path(__file__).with_name("overlap_support.py")


def finish(directory, sandbox, policy=None, config=None):
    run, policy = open_run(directory, sandbox, config or overlap_config("on"), policy or ScriptedPolicy(respond))
    with run:
        advance(run)
    return policy


@pytest.fixture(scope="module")
def one_after_the_other(tmp_path_factory, sandbox):
    directory = tmp_path_factory.mktemp("overlap") / "off"
    finish(directory, sandbox, config=overlap_config("off"))
    return directory


def test_overlapping_stages_leave_the_same_store_whatever_finishes_first(tmp_path, sandbox, one_after_the_other):
    finish(tmp_path / "on", sandbox, ScriptedPolicy(respond, shuffle=1))
    assert not differences(one_after_the_other, tmp_path / "on")
    assert contents(tmp_path / "on") == contents(one_after_the_other)


def test_draws_by_position_overlap_as_far_as_they_can_and_leave_the_same_store(tmp_path, sandbox):
    for overlap in ("off", "on"):
        finish(tmp_path / overlap, sandbox, config=overlap_config(overlap, "position", steps=1))
    assert contents(tmp_path / "on") == contents(tmp_path / "off")


def test_what_the_gate_refuses_is_not_reviewed_early_either(tmp_path, sandbox, one_after_the_other):
    for overlap in ("off", "on"):
        finish(tmp_path / overlap, sandbox, config=overlap_config(overlap, novelty={"first": True}))
    assert contents(tmp_path / "on") == contents(tmp_path / "off")
    reviews = next(query for query in contents(tmp_path / "on") if "FROM reviews" in query)
    # `fresh` is admitted in the first step and written again in the second
    assert len(contents(one_after_the_other)[reviews]) - len(contents(tmp_path / "on")[reviews]) == 3


def test_a_candidate_is_reviewed_while_another_is_still_being_written(tmp_path, sandbox, one_after_the_other):
    def held(policy, request, index):
        return (request.id, index) == ("s00001.g001", 2) and not any(
            item.role == "reviewer" for item in policy.requests
        )

    finish(tmp_path / "on", sandbox, HoldingPolicy(held))
    assert not differences(one_after_the_other, tmp_path / "on")


def test_solver_groups_are_sampled_while_a_late_candidate_is_judged(tmp_path, sandbox, one_after_the_other):
    def held(policy, request, index):
        is_review = request.id == "s00002.g001.c00.review"
        return is_review and not any(item.id.startswith("s00002.solve") for item in policy.requests)

    finish(tmp_path / "on", sandbox, HoldingPolicy(held))
    assert not differences(one_after_the_other, tmp_path / "on")


def test_a_kill_in_each_phase_loses_nothing_and_repeats_nothing(tmp_path, one_after_the_other):
    directory = tmp_path / "run"
    for stage in ("generated", "validated", "reviewed", "calibrated", "decided", "solved", None):
        arguments = [str(directory), "on", *([stage] if stage else [])]
        with subprocess.Popen([sys.executable, str(PROGRAM), *arguments], stderr=subprocess.PIPE, text=True) as process:
            _, errors = process.communicate(timeout=HANG_S)
        assert process.returncode == (-9 if stage else 0), (stage, errors)
    assert not differences(one_after_the_other, directory)


@pytest.mark.parametrize("at", [4, 30])
def test_an_error_ends_the_step_with_nothing_left_running_and_the_run_goes_on(
    tmp_path, sandbox, one_after_the_other, at
):
    run, _ = open_run(
        tmp_path / "run", sandbox, overlap_config("on"), ScriptedPolicy(respond, faults=[Fault(at)], shuffle=at)
    )
    with run, pytest.raises(PolicyError, match="scripted fault"):
        advance(run)
    assert run.conversation is None
    assert run.ahead is None
    assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("evoenv-")]
    finish(tmp_path / "run", sandbox)
    assert not differences(one_after_the_other, tmp_path / "run")


# --------------------------------------------------------------------------- the conversation


@pytest.fixture
def run(tmp_path, sandbox):
    run, _ = open_run(tmp_path / "run", sandbox, policy=ScriptedPolicy(lambda request, index: f"{request.id} {index}"))
    with run:
        yield run


def asked(*names):
    return [RequestRecord(Request(name, "solver", (Message("user", "?"),), count=2), "solve") for name in names]


def test_what_is_in_reserve_is_asked_when_the_policy_has_too_little_to_do(run):
    with Conversation(run, 1, at_once=3) as run.conversation:
        run.conversation.submit(asked("urgent"))
        run.conversation.reserve(asked("a", "b", "c"))
        assert [item.id for item in run.policy.requests] == ["urgent", "a"]
        texts = [sample.text for sample in ask(run, 1, "solved", asked("urgent"))]
        assert texts == ["urgent 0", "urgent 1"]
        assert [item.id for item in run.policy.requests] == ["urgent", "a", "b"]
        run.conversation.release()
        assert [item.id for item in run.policy.requests] == ["urgent", "a", "b", "c"]


def test_what_came_before_its_turn_is_found_and_asked_only_once(run):
    with Conversation(run, 1, at_once=8) as run.conversation:
        run.conversation.submit(asked("early"))
        list(ask(run, 1, "solved", asked("late")))
        assert [sample.text for sample in ask(run, 1, "solved", asked("early"))] == ["early 0", "early 1"]
    assert [item.id for item in run.policy.requests] == ["early", "late"]


def test_samples_that_a_policy_leaves_out_are_named(run, monkeypatch):
    with Conversation(run, 1, at_once=8) as run.conversation:
        waiting = ask(run, 1, "solved", asked("a"))
        next(waiting)
        run.conversation._session._pending.clear()
        with pytest.raises(PolicyError, match="left 1 samples out, the first is number 1 of a"):
            next(waiting)
