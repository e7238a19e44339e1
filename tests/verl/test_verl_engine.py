"""The verl engine passes the suite of all engines."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from conformance import CHECKS, Bench, Check, agree, batch_of, fingerprint

from evoenv.errors import ModelError


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    from verl_subject import VERL

    opened = Bench(VERL, tmp_path_factory.mktemp("engine"))
    yield opened
    opened.close()


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_engine(bench: Bench, check: Check) -> None:
    check(bench)


def test_servers_are_made_for_the_longest_request_of_any_role() -> None:
    from verl_subject import nano_config

    from evoenv.engines.verl.settings import longest_request, longest_sequence

    lengths = [f"{role}.max_prompt_tokens=500" for role in ("generator", "solver")]
    lengths += ["generator.max_tokens=300", "solver.max_tokens=200", "review.max_prompt_tokens=900"]
    lengths += ["review.max_tokens=400", "review.program_max_tokens=700"]
    unread = nano_config(*lengths, "review.enabled=false")
    assert longest_request(unread) == (500, 300)
    assert longest_request(nano_config(*lengths, "review.enabled=true", "review.kind=reading")) == (900, 400)
    assert longest_request(nano_config(*lengths, "review.enabled=true", "review.kind=recomputing")) == (900, 700)
    assert longest_sequence(unread) == 800


def test_a_checkpoint_of_another_number_of_devices_is_taken_over_only_if_that_is_asked_for(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    policy: Any = bench.policy
    policy.update(batch_of(policy, seed=7))
    reference, said = policy.save(), fingerprint(policy)
    path = bench.directory / "checkpoints" / reference / "state.json"
    state = json.loads(path.read_text())
    policy.update(batch_of(policy, seed=8))
    path.write_text(json.dumps({**state, "world": 8}))
    with pytest.raises(ModelError, match=r"written by 8 devices .* cannot be read by 1; .*engine\.take_weights=true"):
        policy.load(reference)
    engine = msgspec.structs.replace(policy.config.engine, take_weights=True)
    with pytest.MonkeyPatch.context() as patch, caplog.at_level(logging.WARNING, "evoenv"):
        patch.setattr(policy, "config", msgspec.structs.replace(policy.config, engine=engine))
        policy.load(reference)
    assert "the optimiser's state is lost" in caplog.text
    assert policy.version == state["version"]
    assert agree(bench.subject, fingerprint(policy), said)
    assert policy.update(batch_of(policy, seed=9))["update/skipped"] == 0.0
    path.write_text(json.dumps(state))
    policy.load(reference)
