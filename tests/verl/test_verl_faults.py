"""What goes wrong on a cluster, caused on purpose: each ends in a message and in a run that can be resumed.

The tests share one engine and stand in this order: the last one loses it.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import math
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from conformance import agree, ask, batch_of, fingerprint

from evoenv.errors import PolicyError
from evoenv.objective import Batch, Row
from evoenv.records import Rollout


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from verl_subject import open_tiny

    with open_tiny(tmp_path_factory.mktemp("engine"), ["engine.devices_per_node=2"]) as opened:
        yield opened


def with_row(batch: Batch, row: Row) -> Batch:
    return dataclasses.replace(batch, minibatches=((*batch.minibatches[0], row),))


def test_a_sequence_that_no_device_could_hold_is_refused_on_the_driver(policy: Any) -> None:
    batch = batch_of(policy)
    row = batch.minibatches[0][0]
    long = dataclasses.replace(row, rollout=Rollout.of([5] * 100, [6] * 3000, [-1.0] * 3000))
    with pytest.raises(PolicyError, match=r"prompt and response of 3100 tokens .* at most 2048 .*tokens_per_device"):
        policy.update(with_row(batch, long))
    assert policy.update(batch)["update/skipped"] == 0.0, "the training processes never saw it"


def test_a_token_that_the_model_does_not_know_is_refused_on_the_driver(policy: Any) -> None:
    batch = batch_of(policy)
    row = batch.minibatches[0][0]
    strange = dataclasses.replace(row, rollout=Rollout.of([5], [10**6], [-1.0]))
    with pytest.raises(PolicyError, match="outside the vocabulary"):
        policy.update(with_row(batch, strange))
    assert policy.update(batch)["update/skipped"] == 0.0


def test_a_step_that_is_not_a_number_is_skipped_and_reported(policy: Any, caplog: pytest.LogCaptureFixture) -> None:
    from verl_subject import VERL

    batch = batch_of(policy)
    before, version = fingerprint(policy), policy.version
    poisoned = dataclasses.replace(batch.minibatches[0][0], advantage=math.nan)
    with caplog.at_level(logging.WARNING, "evoenv"):
        metrics = policy.update(with_row(batch, poisoned))
    assert metrics["update/skipped"] == 1.0
    assert all(map(math.isfinite, metrics.values()))
    assert "skipped: loss nan" in caplog.text
    assert policy.version == version + 1
    assert agree(VERL, fingerprint(policy), before), "the weights were left alone"
    assert policy.update(batch)["update/skipped"] == 0.0, "and the next step is an ordinary one"


def test_a_server_that_dies_is_started_again_and_asked_again(policy: Any, caplog: pytest.LogCaptureFixture) -> None:
    import ray

    requests = [ask(f"r{number}", count=4, max_tokens=120, seed=number) for number in range(6)]
    expected = {(sample.request_id, sample.index): sample.text for sample in policy.sample(requests)}
    with policy.sampling() as session, caplog.at_level(logging.WARNING, "evoenv"):
        session.submit(requests)
        server = policy.cluster.replicas[1].server_handle
        os.kill(ray.get(server.check.remote()), signal.SIGKILL)
        delivered = {(sample.request_id, sample.index): sample.text for sample in session}
    assert delivered == expected
    assert "vLLM server 1 died" in caplog.text
    batch = batch_of(policy)
    server = policy.cluster.replicas[0].server_handle
    os.kill(ray.get(server.check.remote()), signal.SIGKILL)
    with caplog.at_level(logging.WARNING, "evoenv"):
        assert policy.update(batch)["update/skipped"] == 0.0
    assert "vLLM server 0 died while it was idle" in caplog.text
    assert len(list(policy.sample([ask("after", count=4)]))) == 4


def test_a_request_that_a_server_refuses_is_named(policy: Any) -> None:
    encode = policy.encode
    with pytest.MonkeyPatch.context() as patch, policy.sampling() as session:
        prompt = encode(ask("odd").messages)
        odd = dataclasses.replace(prompt, token_ids=(*prompt.token_ids, 10**6))
        patch.setattr(policy, "encode", lambda messages: odd)
        session.submit([ask("odd", seed=1)])
        with pytest.raises(PolicyError, match="'odd'"):
            list(session)
    assert len(list(policy.sample([ask("even")]))) == 1


def test_an_error_in_a_training_process_ends_the_call_with_its_last_line(policy: Any, tmp_path: Path) -> None:
    message = r"loading weights failed: .*ValueError: .* has no weights .*The whole text is in .*logs.*--resume"
    with pytest.raises(PolicyError, match=message):
        policy.cluster.call("loading weights", "load_export", str(tmp_path))


@contextmanager
def stopped(process: int) -> Iterator[None]:
    """Keep a process from answering; afterwards wait until it has done what was asked of it meanwhile."""
    os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process, signal.SIGCONT)
        for thread in threading.enumerate():
            if thread.name.startswith("evoenv: "):
                thread.join()


def test_a_process_that_hangs_is_not_waited_for_for_ever(policy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    (_, rank), *_ = policy.cluster.call("asking", "whereabouts")
    server = ray.get(policy.cluster.replicas[0].server_handle.check.remote())
    monkeypatch.setattr(policy.cluster, "_patience", 3.0)
    limit = rf"took more than 3 s \(engine\.patience_seconds\).*logs.*{rank} on .*--resume"
    with stopped(rank), pytest.raises(PolicyError, match=f"asking again {limit}"):
        policy.cluster.call("asking again", "whereabouts")
    with stopped(server), pytest.raises(PolicyError, match=f"sending weights to the servers {limit}"):
        policy.cluster.publish(policy.version)


def test_a_server_that_does_not_start_is_not_waited_for_for_ever(policy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from evoenv.engines.verl.server import EvoReplica

    async def hang(replica: EvoReplica, workers: Any) -> None:
        await asyncio.sleep(60)

    monkeypatch.setattr(policy.cluster, "_patience", 1.0)
    monkeypatch.setattr(EvoReplica, "init_hybrid", hang)
    with pytest.raises(PolicyError, match=r"starting the vLLM servers took more than 1 s .*logs.*--resume"):
        policy.cluster._launch([0])


def test_devices_that_are_taken_are_not_waited_for_for_ever(policy: Any, tmp_path: Path) -> None:
    from verl_subject import open_tiny

    settings = ["engine.devices_per_node=2", "engine.patience_seconds=3"]
    with (
        pytest.raises(PolicyError, match=r"placing the training processes took more than 3 s .*logs"),
        open_tiny(tmp_path, settings),
    ):
        pass
    assert len(list(policy.sample([ask("still there")]))) == 1


def test_a_training_process_that_dies_ends_the_engine_with_a_word_on_how_to_go_on(policy: Any) -> None:
    batch = batch_of(policy)
    *_, (_, killed) = policy.cluster.call("asking", "whereabouts")
    os.kill(killed, signal.SIGKILL)
    with pytest.raises(PolicyError, match=r"a training pass (failed|took more).*--resume"):
        policy.update(batch)
    for action in (lambda: policy.update(batch), policy.save, lambda: list(policy.sample([ask("r")]))):
        with pytest.raises(PolicyError, match=r"the engine cannot go on: a training pass"):
            action()
