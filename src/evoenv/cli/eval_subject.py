"""Who `evoenv eval` evaluates: a model by name, a server, or a checkpoint of a run."""

from __future__ import annotations

import argparse
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evoenv.cli import driving
from evoenv.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from evoenv.config import Config
    from evoenv.ports import Policy

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


def model_subject(arguments: argparse.Namespace) -> Subject:
    from evoenv.config import load_config

    own = [f"model.name={json.dumps(arguments.model)}"]
    if arguments.base_url:
        own.append(f"model.base_url={json.dumps(arguments.base_url)}")
    config = load_config(overrides=[*arguments.overrides, *own])
    folder = Path(RESULTS_FOLDER) / (re.sub(r"[^A-Za-z0-9._-]+", "-", arguments.model).strip("-.") or "model")

    def open_model() -> tuple[Policy, dict[str, Any]]:
        policy = sampling_policy(config)
        return policy, identity_of(policy, config.model.name, config.model.base_url)

    return Subject(open_model, arguments.model, folder)


def run_subject(arguments: argparse.Namespace) -> Subject:
    from evoenv.config import load_config
    from evoenv.store.store import Store

    directory: Path = arguments.run_directory
    if arguments.base_url:
        raise InputError("--base-url goes with --model; a run brings its own model")
    with Store.read(directory) as store:
        config = load_config(store.meta("config"), overrides=arguments.overrides)
        last, known = store.last_checkpoint(), store.checkpoints()
        begun = store.last_step()
    if config.model.base_url:
        if arguments.checkpoint is not None:
            raise InputError(f"the run in {directory} uses a served model, which has no checkpoints")
        step, name = begun, None
    elif arguments.checkpoint == 0:
        step, name = 0, None
    elif arguments.checkpoint is not None:
        step, name = arguments.checkpoint, f"step-{arguments.checkpoint:05d}"
        if name not in known or not (directory / "checkpoints" / name).is_dir():
            there = [item for item in known if (directory / "checkpoints" / item).is_dir()]
            raise InputError(f"the run has no checkpoint of step {step}; it has {', '.join(there) or 'none'}")
    elif last is not None:
        step, name = last
    else:
        raise InputError(
            f"the run in {directory} has no checkpoint yet; train it first, or evaluate its model before training "
            "with --checkpoint 0"
        )

    def open_checkpoint() -> tuple[Policy, dict[str, Any]]:
        if name is None:
            policy = sampling_policy(config)
            return policy, identity_of(policy, config.model.name, config.model.base_url)
        driving.require_packages("torch", "transformers")
        from evoenv.engines.local.policy import LocalPolicy

        trained = LocalPolicy.open(config.model, config.training, seed=config.run.seed)
        trained.load(directory / "checkpoints" / name)
        return trained, {"name": config.model.name, "checkpoint": name, "weights": digest_of(directory, name)}

    label = f"{directory} at step {step}" if name or step else f"{directory} before training"
    return Subject(open_checkpoint, label, directory / RESULTS_FOLDER / f"step-{step:05d}", (directory, step))


def sampling_policy(config: Config) -> Policy:
    """A policy that samples: the server, or a model on this machine."""
    from evoenv.cli.synth import open_policy

    if not config.model.base_url:
        driving.require_packages("torch", "transformers")
    return open_policy(config)


def identity_of(policy: Policy, name: str, base_url: str) -> dict[str, Any]:
    """A model by its name and weights; of a server only the name is known."""
    if base_url:
        return {"name": name, "base_url": base_url}
    model = getattr(policy, "model", None)
    if model is None:
        return {"name": name}
    from evoenv.training.checkpoints import weights_fingerprint

    return {"name": name, "weights": weights_fingerprint(model)}


def digest_of(directory: Path, name: str) -> str:
    """A checkpoint by its list of files and their digests."""
    import hashlib

    return hashlib.sha256((directory / "checkpoints" / name / "state.json").read_bytes()).hexdigest()[:32]
