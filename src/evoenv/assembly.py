"""The composition root: opens policies, sandboxes and embedders. Nothing else in the package does.

A new engine, another kind of isolation or another encoder is chosen here, out of a configuration, and the rest of the
package goes on with the ports. The scorer that every export carries (`exchange/scorer`) is the one exception: it runs
where EvoEnv is not installed, so it opens its own sandbox.

Imports inside functions keep torch, httpx and numpy out of commands that need none of them.
"""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from evoenv.config import Config, load_config
from evoenv.engines.checkpoints import FOLDER, CheckpointFolder
from evoenv.errors import ConfigError, InputError
from evoenv.memory import in_gb, local_need, refusal, sharded_refusal
from evoenv.sandbox.host import Limits, Sandbox

if TYPE_CHECKING:
    from evoenv.ports import Embedder, Policy

log = logging.getLogger(__name__)

HASHING_EMBEDDER = "hashing"
"""`novelty.embedder` by this name needs no model: hashed character n-grams, for fast tests."""


def require_packages(*names: str, extra: str = "local,endpoint") -> None:
    """Raise InputError if an extra is not installed: `evoenv validate` and friends go without them."""
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if missing:
        raise InputError(f"{', '.join(missing)} not found; install what a run needs: pip install 'evoenv[{extra}]'")


# --------------------------------------------------------------------------- sandboxes


def open_sandbox(
    config: Config | None = None,
    *,
    limits: Limits | None = None,
    modules: Iterable[str] = (),
    allow_degraded: bool = False,
    runtime: Path | None = None,
    workers: int | None = None,
) -> Sandbox:
    """Open a sandbox with the limits and trusted modules of a configuration, or with the default ones.

    `limits` replace the configuration's, `modules` are trusted besides its own, and `runtime` is a program that the
    workers run instead of loading an environment (graders of mathematics and of programs have one).
    """
    if config is not None:
        limits = limits or limits_of(config)
        modules = (*config.validation.modules, *modules)
    return Sandbox(
        limits or Limits(),
        allow_degraded=allow_degraded,
        workers=workers,
        runtime=runtime,
        modules=tuple(dict.fromkeys(modules)),
    )


def open_run_sandbox(config: Config, *, allow_degraded: bool = False) -> Sandbox:
    """Open the sandbox of a run: on this machine, or on all nodes if `engine.sandbox_nodes` says so."""
    if config.engine.sandbox_nodes == "driver":
        return open_sandbox(config, allow_degraded=allow_degraded)
    if config.engine.name != "verl" or config.model.base_url:
        raise ConfigError(
            'engine.sandbox_nodes is "all": other nodes are known to the verl engine only; set engine.name=verl, or '
            "engine.sandbox_nodes=driver"
        )
    require_packages("ray", "verl", "vllm", extra="verl")
    from evoenv.engines.verl.sandboxes import RaySandbox

    return RaySandbox(
        config, partial(open_sandbox, config, allow_degraded=allow_degraded), allow_degraded=allow_degraded
    )


def limits_of(config: Config) -> Limits:
    """Return what one call of an environment may take."""
    return Limits(cpu_s=config.validation.call_cpu_seconds, memory_mb=config.validation.memory_mb)


# --------------------------------------------------------------------------- embedders


def open_embedder(config: Config) -> Embedder:
    """Open the encoder that novelty is measured with."""
    from evoenv.models.embedder import HashingEmbedder, MiniLMEmbedder

    if config.novelty.embedder == HASHING_EMBEDDER:
        return HashingEmbedder()
    require_packages("torch", "transformers")
    return MiniLMEmbedder(config.novelty.embedder, device=config.model.device)


# --------------------------------------------------------------------------- policies


def open_policy(
    config: Config, *, learns: bool = False, run_directory: Path | None = None, progress: bool = True
) -> Policy:
    """Open the model of a configuration with the engine that it names, or a server if `model.base_url` names one.

    A server is asked once whether it is there and knows the model. `learns` makes a local model ready for updates;
    without it the policy only samples. Checkpoints are written to and read from `run_directory`. `progress` shows a
    download.
    """
    engine = "endpoint" if config.model.base_url else config.engine.name
    if engine == "endpoint":
        if not config.model.base_url:
            raise ConfigError(
                'engine.name is "endpoint" and model.base_url is empty; name the server, as in '
                "--set model.base_url=http://localhost:8000/v1"
            )
        require_packages("httpx")
        from evoenv.engines.endpoint.policy import EndpointPolicy

        policy = EndpointPolicy(config.model, config.endpoint)
        policy.contact()
        return policy
    checkpoints = None if run_directory is None else run_directory / FOLDER
    if engine == "verl":
        require_packages("ray", "verl", "vllm", extra="verl")
        check_memory(config, learns=learns, progress=progress)
        try:
            from evoenv.engines.verl.policy import VerlPolicy
        except Exception as error:  # verl looks at the versions of others, and raises what it likes
            raise ConfigError(
                f'engine.name is "verl" and its packages do not go together: {type(error).__name__}: {error}. Install '
                'them in an environment of their own with pip install "evoenv[verl]"; without a GPU see docs/scale.md'
            ) from error

        return VerlPolicy(config.with_schedule, learns=learns, checkpoints=checkpoints, progress=progress)
    require_packages("torch", "transformers")
    check_memory(config, learns=learns, progress=progress)
    from evoenv.engines.local.policy import LocalPolicy

    training = config.with_schedule.training if learns else None
    return LocalPolicy.open(config.model, training, checkpoints=checkpoints, seed=config.run.seed, progress=progress)


def check_memory(config: Config, *, learns: bool, progress: bool = True) -> None:
    """Raise ConfigError if the device cannot hold the model, before anything is loaded.

    Weights are fetched for it only if the shape of the model is not known otherwise.
    """
    from evoenv.models.devices import find_device
    from evoenv.models.resolve import resolve_model
    from evoenv.models.shapes import find_shape, shape_in

    name = config.model.name
    shape = find_shape(name) or shape_in(resolve_model(name, progress=progress))
    device = find_device(config.model.device)
    if shape is None or device is None:
        return
    if config.engine.name == "verl":
        if config.engine.ray_address and device.kind == "cpu":
            return  # the devices are in the cluster, and Ray is asked for them
        message = sharded_refusal(name, shape, config, device.memory, device=device.kind)
        if message and learns:
            raise ConfigError(message)
        return
    if message := refusal(name, shape, config, device.memory, device=device.kind, trains=learns):
        raise ConfigError(message)
    peak = local_need(shape, config, device=device.kind, trains=learns).peak
    if peak > device.memory:
        log.info("%s may come to %s with texts of full length; there are %s", name, in_gb(peak), in_gb(device.memory))


def policy_of(model: Any, tokenizer: Any) -> Policy:
    """Wrap a loaded model and its tokenizer into a policy that samples."""
    from evoenv.engines.local.policy import LocalPolicy

    return LocalPolicy(model, tokenizer)


def open_silent_policy() -> Policy:
    """Open a policy that answers nothing: for looking at prompts before anybody is asked."""
    from evoenv.engines.scripted import ScriptedPolicy

    return ScriptedPolicy({}, trainable=False)


# --------------------------------------------------------------------------- the checkpoints of a run


@dataclass(frozen=True, slots=True)
class RunCheckpoint:
    """A run's policy at one of its steps."""

    directory: Path
    """Of the run."""
    config: Config
    step: int
    name: str | None
    """Of the folder below `checkpoints/`; None before training, and for a served model, which has no checkpoints."""

    @property
    def path(self) -> Path | None:
        return None if self.name is None else self.directory / FOLDER / self.name


def find_checkpoint(directory: Path, step: int | None = None, overrides: Iterable[str] = ()) -> RunCheckpoint:
    """Find a run's checkpoint: the newest, or that of `step`, where 0 is the model before training."""
    from evoenv.store.store import Store

    with Store.read(directory) as store:
        config = load_config(store.meta("config"), overrides=overrides)
        last, known = store.last_checkpoint(), store.checkpoints()
        begun = store.last_step()
    if config.model.base_url:
        if step is not None:
            raise InputError(f"the run in {directory} uses a served model, which has no checkpoints")
        return RunCheckpoint(directory, config, begun, None)
    if step == 0:
        return RunCheckpoint(directory, config, 0, None)
    if step is not None:
        name = CheckpointFolder.reference(step)
        if name not in known or not (directory / FOLDER / name).is_dir():
            there = [item for item in known if (directory / FOLDER / item).is_dir()]
            raise InputError(f"the run has no checkpoint of step {step}; it has {', '.join(there) or 'none'}")
        return RunCheckpoint(directory, config, step, name)
    if last is None:
        raise InputError(
            f"the run in {directory} has no checkpoint yet; train it first, or evaluate its model before training "
            "with --checkpoint 0"
        )
    return RunCheckpoint(directory, config, *last)


def open_checkpoint(checkpoint: RunCheckpoint) -> Policy:
    """Open a run's policy as a step left it."""
    if checkpoint.name is None:
        return open_policy(checkpoint.config)
    policy = open_policy(checkpoint.config, learns=True, run_directory=checkpoint.directory)
    policy.load(checkpoint.name)
    return policy


# --------------------------------------------------------------------------- all that a run needs


class Ports(NamedTuple):
    """What a run works with, in the order in which `evoenv.run.prepare` takes it."""

    policy: Policy
    sandbox: Sandbox
    embedder: Embedder


@contextmanager
def open_ports(
    config: Config,
    *,
    learns: bool,
    run_directory: Path | None = None,
    allow_degraded: bool = False,
    policy: Policy | None = None,
) -> Iterator[Ports]:
    """Open all that a run needs, and close it afterwards; a `policy` that is given stays open.

    What fails fast comes first: a server that does not answer is found before an encoder is loaded, a missing layer
    of the sandbox before a model is.
    """
    with ExitStack() as stack:

        def opened() -> Policy:
            made = open_policy(config, learns=learns, run_directory=run_directory)
            stack.callback(made.close)
            return made

        if policy is None and (config.model.base_url or config.engine.name == "endpoint"):
            policy = opened()
        sandbox = stack.enter_context(open_run_sandbox(config, allow_degraded=allow_degraded))
        if policy is None:
            check_memory(config, learns=learns)
        embedder = open_embedder(config)
        yield Ports(policy or opened(), sandbox, embedder)
