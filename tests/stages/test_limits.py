"""One over-long prompt must cost a candidate or a draw, never the run."""

from __future__ import annotations

import dataclasses

import pytest
from loop_support import ORIGINALS, TableEmbedder, configuration, environment, open_run, respond

from evoenv.engines.scripted import ScriptedPolicy
from evoenv.errors import ConfigError
from evoenv.evolve import evolve
from evoenv.run import create, prepare
from evoenv.stages.synthesis import generator_requests, group_sizes

pytestmark = pytest.mark.sandbox


class CountingPolicy(ScriptedPolicy):
    """A byte is a token, and a prompt longer than its room is an error, as with a real model."""

    room = 100_000

    def prompt_tokens(self, messages):
        return sum(len(message.content.encode()) for message in messages)

    def check(self, requests):
        for request in requests:
            assert self.prompt_tokens(request.messages) <= self.room
        super().check(requests)


def fates(run):
    return {d.candidate_id.partition(".")[2]: d.reason for d in run.store.decisions(1)}


def test_a_candidate_whose_prompts_cannot_be_shown_is_too_hard(tmp_path, sandbox):
    wordy = environment("Wordy", "third").replace("Numbers:", "Numbers (" + "a very long remark, " * 200 + "):")

    def propose(request, index):
        if request.role == "generator":
            return f"```python\n{wordy}\n```" if request.id.endswith("g000") and index == 0 else "nothing"
        return respond(request, index)

    policy = CountingPolicy(propose)
    policy.room = 12_000
    config = configuration(solver={"max_prompt_tokens": 2000}, review={"max_prompt_tokens": 12_000})
    run, _ = open_run(tmp_path / "run", sandbox, config, policy)
    evolve(run, 1)
    assert fates(run)["g000.c00"] == "too-hard"
    assert run.store.calibrations(1)["s00001.g000.c00"].scores == (0.0,) * 4
    assert run.store.requests(1, "calibrate") == {}
    assert len(run.store.reviews(1)["s00001.g000.c00"]) == 3
    run.store.close()


@pytest.mark.slow
def test_calibration_counts_what_was_answered(tmp_path, sandbox):
    """A server refuses one response of each candidate: it leaves the denominator."""

    class Refusing(ScriptedPolicy):
        def sample(self, requests):
            for sample in super().sample(requests):
                lost = sample.request_id.endswith(".calibrate.03")
                yield dataclasses.replace(sample, text="", finish_reason="error") if lost else sample

    run, _ = open_run(tmp_path / "run", sandbox, policy=Refusing(respond))
    with run:
        evolve(run, 1)
        found = {name: len(item.scores) for name, item in run.store.calibrations(1).items()}
        rates = {name: item.pass_rate for name, item in run.store.calibrations(1).items()}
    assert set(found.values()) == {3}
    assert rates["s00001.g001.c02"] == 1.0, "right on all that were answered"


def test_a_candidate_that_cannot_be_reviewed_is_refused(tmp_path, sandbox):
    run, _ = open_run(
        tmp_path / "run", sandbox, configuration(review={"max_prompt_tokens": 1000}), CountingPolicy(respond)
    )
    evolve(run, 1)
    assert set(fates(run).values()) == {"layer", "review"}
    assert run.store.requests(1, "review") == {}
    assert run.store.metrics(1)["calibration/pass_rate"] == 0.5
    run.store.close()


@pytest.mark.slow
def test_a_review_that_is_too_long_shows_less(tmp_path, sandbox):
    lengths = {}
    for limit in (100_000, 3986, 3486):
        policy = CountingPolicy(respond)
        config = configuration(review={"max_prompt_tokens": limit})
        run, _ = open_run(tmp_path / str(limit), sandbox, config, policy)
        evolve(run, 1)
        lengths[limit] = max(policy.prompt_tokens(r.messages) for r in policy.requests if r.role == "reviewer")
        assert fates(run)["g001.c04"] == "admitted"
        run.store.close()
    assert lengths[100_000] > 3986 >= lengths[3986] > 3486 >= lengths[3486]


def test_draws_of_an_environment_that_overflows_are_lost_and_counted(tmp_path, sandbox):
    long = environment("Long", "third").replace("Numbers:", "Numbers (" + "a very long remark, " * 200 + "):")
    store, config = create(
        tmp_path / "run", configuration(solver={"max_prompt_tokens": 2000}, generator={"prompts": 0})
    )
    originals = {**ORIGINALS, "Long": long}
    run = prepare(store, config, CountingPolicy(respond), sandbox, TableEmbedder(), originals=originals)
    evolve(run, 1)
    drawn = run.store.requests(1, "solve")
    assert run.store.metrics(1)["solver/lost_draws"] == 6 - len(drawn) > 0
    assert len(drawn) > 0
    run.store.close()


def test_the_generator_sees_as_many_examples_as_fit(tmp_path, sandbox):
    shown = {}
    run, _ = open_run(tmp_path / "run", sandbox, policy=CountingPolicy(respond))
    for limit in (8192, 4000, 3200):
        run.config = configuration(generator={"max_prompt_tokens": limit})
        asked, parents = generator_requests(run, 1, run.store.pool())
        shown[limit] = {len(found) for found in parents.values()}
        if shown[limit] == {1}:
            assert len(set(parents.values())) == len(parents) == 2, "no two prompts show the same"
        assert max(run.policy.prompt_tokens(item.request.messages) for item in asked) <= limit
    run.close()
    assert shown == {8192: {2}, 4000: {1}, 3200: {0}}


def test_the_last_step_proposes_no_more_than_the_run_may():
    config = configuration(run={"candidates": 17})  # 2 prompts × 7 candidates
    assert group_sizes(config, 0) == [7, 7]
    assert group_sizes(config, 14) == [3]
    assert group_sizes(config, 17) == []
    assert group_sizes(configuration(), 1000) == [7, 7]


def test_a_limit_below_the_bare_prompt_is_a_configuration_error(tmp_path, sandbox):
    run, _ = open_run(
        tmp_path / "run", sandbox, configuration(generator={"max_prompt_tokens": 100}), CountingPolicy(respond)
    )
    with pytest.raises(ConfigError, match=r'generator\.prompt = "short"'):
        evolve(run, 1)
    run.store.close()
