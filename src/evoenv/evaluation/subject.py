"""Who is evaluated: a model by name, a server, or a checkpoint of a run."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evoenv.assembly import RunCheckpoint, find_checkpoint, open_checkpoint, open_policy
from evoenv.config import load_config
from evoenv.evaluation.evaluate import Evaluation
from evoenv.ports import Policy
from evoenv.store.store import Store

RESULTS_FOLDER = "evaluations"


@dataclass(frozen=True, slots=True)
class Subject:
    """Who is evaluated: how to open it, what it is called, and where its results belong."""

    open: Callable[[], tuple[Policy, dict[str, Any]]]
    """The policy, and what must not change between two sittings."""
    label: str
    folder: Path
    run: tuple[Path, int] | None = None
    """The run and the step whose held-out accuracy this is."""
    owned: bool = True
    """Whether the policy is closed after the evaluation; False for one that somebody else opened."""


def model_subject(model: str, base_url: str | None = None, overrides: Sequence[str] = ()) -> Subject:
    """Evaluate a model by its name, on this machine or behind the server `base_url`."""
    own = [f"model.name={json.dumps(model)}"]
    if base_url:
        own.append(f"model.base_url={json.dumps(base_url)}")
    config = load_config(overrides=[*overrides, *own])
    folder = Path(RESULTS_FOLDER) / (re.sub(r"[^A-Za-z0-9._-]+", "-", model).strip("-.") or "model")

    def open_model() -> tuple[Policy, dict[str, Any]]:
        policy = open_policy(config)
        return policy, identity_of(policy, config.model.name, config.model.base_url)

    return Subject(open_model, model, folder)


def run_subject(directory: Path, step: int | None = None, overrides: Sequence[str] = ()) -> Subject:
    """Evaluate a run's newest checkpoint, or that of `step`; 0 is its model before training."""
    checkpoint = find_checkpoint(directory, step, overrides)
    step, config = checkpoint.step, checkpoint.config

    def open_run_policy() -> tuple[Policy, dict[str, Any]]:
        policy = open_checkpoint(checkpoint)
        if checkpoint.name is None:
            return policy, identity_of(policy, config.model.name, config.model.base_url)
        return policy, {"name": config.model.name, "checkpoint": checkpoint.name, "weights": digest_of(checkpoint)}

    label = f"{directory} at step {step}" if checkpoint.name or step else f"{directory} before training"
    return Subject(open_run_policy, label, directory / RESULTS_FOLDER / f"step-{step:05d}", (directory, step))


def policy_subject(policy: Policy, label: str = "policy") -> Subject:
    """Evaluate a policy that is open already; it stays open."""

    def open_policy_again() -> tuple[Policy, dict[str, Any]]:
        return policy, identity_of(policy, label, "")

    return Subject(open_policy_again, label, Path(RESULTS_FOLDER) / label, owned=False)


def identity_of(policy: Policy, name: str, base_url: str) -> dict[str, Any]:
    """Identify a model by its name and weights; of a server only the name is known."""
    if base_url:
        return {"name": name, "base_url": base_url}
    model = getattr(policy, "model", None)
    if model is None:
        return {"name": name}
    from evoenv.models.weights import weights_fingerprint

    return {"name": name, "weights": weights_fingerprint(model)}


def digest_of(checkpoint: RunCheckpoint) -> str:
    """Identify a checkpoint by its list of files and their digests."""
    assert checkpoint.path is not None
    return hashlib.sha256((checkpoint.path / "state.json").read_bytes()).hexdigest()[:32]


def enter_in_run(subject: Subject, evaluation: Evaluation) -> None:
    """Enter a held-out accuracy in the run that it is of, for `evoenv report` to find; nothing for a bare model."""
    accuracy = evaluation.accuracy
    if subject.run is None or not accuracy.n:
        return
    directory, step = subject.run
    with Store.open(directory) as store:
        store.record_evaluation(step, evaluation.suite, accuracy.mean, accuracy.low, accuracy.high, accuracy.n)
