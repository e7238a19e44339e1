"""The verl engine learns what the local engine learns, and keeps it."""

from __future__ import annotations

import dataclasses
import math
from array import array
from pathlib import Path
from typing import Any

import pytest

from evoenv.objective import Batch, build_batch
from evoenv.ports import Policy
from evoenv.records import Group, Message, Request, Sample

TEXTS = ("Add 3 and 4.", "Sort 5 2 9.", "Largest of 4, 8, 1?", "Reverse 1 2 3.")


def batch_of(policy: Policy, config: Any, update: int, gap: float = 0.0) -> Batch:
    """Groups of both roles, of different lengths, rewarded by something that has nothing to do with the model.

    `gap` makes the sampler's log-probabilities wrong by up to so much.
    """
    requests = [
        Request(
            f"q{number}",
            "solver" if number % 2 else "generator",
            (Message("user", text),),
            count=3 + number % 2,
            max_tokens=20 + 10 * number,
            seed=10 * update + number,
            trains=True,
        )
        for number, text in enumerate(TEXTS)
    ]
    samples = [with_gap(sample, gap) for sample in policy.sample(requests)]
    groups = []
    for request in requests:
        own = sorted((sample for sample in samples if sample.request_id == request.id), key=lambda item: item.index)
        groups.append(Group(request.id, request.role, tuple(own), tuple(float(index % 2) for index in range(len(own)))))
    return build_batch(groups, config.training, update=update)


def with_gap(sample: Sample, gap: float) -> Sample:
    rollout = sample.rollout
    assert rollout is not None
    logprobs = array("d", (value - gap * math.sin(position) for position, value in enumerate(rollout.logprobs)))
    return dataclasses.replace(sample, rollout=dataclasses.replace(rollout, logprobs=logprobs))


def test_truncated_importance_gives_the_loss_of_the_local_engine_over_several_optimiser_steps(tmp_path: Path) -> None:
    from verl_subject import nano_config, opened

    from evoenv.engines.local.policy import LocalPolicy

    config = nano_config(
        "training.truncated_importance=1.5", "training.minibatches=2", "training.kl=0.0", "training.learning_rate=1e-3"
    )
    local = LocalPolicy.open(config.model, config.training, progress=False)
    with opened(config, tmp_path) as policy:
        batch = batch_of(policy, config, 0, gap=0.8)
        assert len(batch.minibatches) == 2
        theirs, ours = policy.update(batch), local.update(batch)
    assert 0.0 < theirs["importance/truncated"] < 1.0
    for name in ("loss/total", "loss/solver", "loss/generator", "importance/mean", "importance/truncated"):
        assert theirs[name] == pytest.approx(ours[name], abs=1e-4), name
    assert theirs["grad/norm"] == pytest.approx(ours["grad/norm"], rel=1e-3)


@pytest.mark.parametrize("world", [1, 2])
def test_the_same_groups_give_the_loss_and_the_weights_of_the_local_engine(
    world: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from verl_subject import nano_config, opened

    from evoenv.engines.local.policy import LocalPolicy
    from evoenv.engines.verl import learning
    from evoenv.models.resolve import load_model

    if world > 1:  # the update is handed over in several parts
        monkeypatch.setattr(learning, "TOKENS", 300)
        monkeypatch.setattr(learning, "MICRO_BATCHES", 0)
    config = nano_config(
        f"engine.devices_per_node={world}",
        "engine.tokens_per_device=2000",
        "training.kl=0.01",
        "training.weight_decay=0.1",
        "training.learning_rate=1e-3",
        "training.gain_rate=10.0",
    )
    local = LocalPolicy.open(config.model, config.training, progress=False)
    with opened(config, tmp_path) as policy:
        for update in range(3):
            batch = batch_of(policy, config, update)
            theirs, ours = policy.update(batch), local.update(batch)
            for name in ("loss/total", "loss/solver", "loss/generator", "loss/kl"):
                assert theirs[name] == pytest.approx(ours[name], abs=1e-5), (update, name)
            assert theirs["grad/norm"] == pytest.approx(ours["grad/norm"], rel=1e-3)
            assert theirs["logprob/gap_max"] < 1e-3, "sampler and trainer agree in float32"
            assert theirs["engine/sampled_tokens_per_second"] > 0
        reference = policy.save()
    exported = load_model(tmp_path / "checkpoints" / reference / "huggingface", "cpu", "float32")
    own = dict(local.model.named_parameters())
    for name, weight in exported.named_parameters():
        assert (own[name] - weight).abs().max().item() < 1e-3, name
