"""A run directory: begun, taken up again, and driven step by step.

    store, config = create(directory, config)          # or: reopen(directory)
    with prepare(store, config, policy, sandbox, embedder) as run:
        advance(run)

`config.toml` (resolved), `run.sqlite` (the truth) and `checkpoints/` are all that is needed to resume, audit or show
the run on another machine.
"""

from __future__ import annotations

import logging
import os
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from evoenv.admission.novelty import NoveltyCache, clean_generate_body
from evoenv.config import Config, load_config, to_mapping
from evoenv.curricula import check_curriculum, curriculum_of
from evoenv.durable import write_bytes
from evoenv.environment.sets import load_environments
from evoenv.errors import BudgetExhausted, ConfigError, InputError
from evoenv.evolve import evolve
from evoenv.pool.tags import prototypes_of, tags_of
from evoenv.ports import Embedder, HasContext, Policy
from evoenv.prompts.challenger import CHALLENGER_PROMPT
from evoenv.prompts.generator import GENERATOR_PROMPTS, TOPICS_PROMPT, form_shown
from evoenv.prompts.recompute import RECOMPUTE_PROMPTS
from evoenv.prompts.repair import REPAIR_PROMPT
from evoenv.prompts.review import REVIEW_PROMPT
from evoenv.prompts.solver import SOLVER_PROMPT
from evoenv.records import StepSummary, environment_id
from evoenv.sandbox.host import Sandbox
from evoenv.sandbox.pool import WorkerPool
from evoenv.sections import toml_value
from evoenv.stages.budget import is_finished
from evoenv.stages.context import Observer, Run, RunStopped, Unobserved
from evoenv.stages.learning import restore_policy, save_last
from evoenv.stages.sampling import keep_spending
from evoenv.store.store import EnvironmentRecord, Store

logger = logging.getLogger(__name__)

CONFIG_NAME = "config.toml"
MAY_CHANGE = frozenset(
    {
        "run.steps",
        "run.candidates",
        "run.tokens",
        "run.tokens_at_least",
        "run.checkpoint_every",
        "run.keep_checkpoints",
        "run.writers",
        "model.device",
        "model.base_url",
        "model.sample_batch_tokens",
        "engine.ray_address",
        "engine.nodes",
        "engine.devices_per_node",
        "engine.sandbox_nodes",
        "engine.tensor_parallel",
        "engine.sampler_memory",
        "engine.sampler_rows",
        "engine.tokens_per_device",
        "engine.offload",
        "engine.patience_seconds",
        "engine.take_weights",
        "engine.mismatch_limit",
        "engine.overlap",
        "endpoint.concurrency",
        "endpoint.timeout_seconds",
        "endpoint.retries",
        "endpoint.token_budget",
        "endpoint.money_budget",
        "endpoint.input_price",
        "endpoint.output_price",
        "endpoint.solver_base_url",
        "endpoint.solver_input_price",
        "endpoint.solver_output_price",
        "training.micro_batch_tokens",
        "training.gradient_checkpointing",
    }
)
"""What a resumed run may do differently without becoming another experiment."""

EARLIER_DEFAULTS = {"novelty": {"repetition_over": "batch"}}
"""What a run did that was begun before it was a setting: it goes on as it began."""

_VERSIONED = ("evoenv", "torch", "transformers", "numpy", "msgspec")
_VERSIONED_ON_VERL = ("verl", "vllm", "ray")


# --------------------------------------------------------------------------- the directory


def check_free(directory: Path) -> None:
    """Raise InputError, before any work, if no new run can be made in the directory."""
    if Store.begun(directory):
        raise InputError(f"{directory} already holds a run; continue it with --resume, or choose another --run")
    parent = directory.absolute()
    while not parent.exists():
        parent = parent.parent
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        raise InputError(
            f"no run can be made in {directory}: {parent} is not a directory to write in; choose another --run"
        )


def check_begun(directory: Path) -> None:
    """Raise InputError if there is no run in the directory."""
    if not Store.begun(directory):
        raise InputError(f"there is no run in {directory} to resume; start it without --resume")


def create(directory: Path, config: Config) -> tuple[Store, Config]:
    """Begin a run, with its resolved configuration written down."""
    config = config.with_schedule
    _warn_of_schedule(config)
    try:
        config_toml(config).encode()
    except UnicodeEncodeError as error:
        raise ConfigError(f"the settings hold text that is no Unicode, {error.object[error.start :][:40]!r}") from error
    store = Store.create(directory, to_mapping(config), versions(config))
    try:
        _write_config(directory, config)
    except BaseException:
        store.close()
        raise
    return store, config


def reopen(
    directory: Path, overrides: Iterable[str] = (), check: Callable[[Config], None] | None = None
) -> tuple[Store, Config]:
    """Open an existing run as it was configured; `overrides` and edits of config.toml may only change MAY_CHANGE.

    What `check` refuses is not kept.
    """
    store = Store.open(directory)
    try:
        begun, config = configurations(directory, store, overrides)
        _check_changes(begun, config)
        if check is not None:
            check(config)
        _warn_of_schedule(config)
        if config != begun:
            store.set_meta("config", to_mapping(config))
            store.add_event(None, "config-changed", _changes(begun, config))
        _write_config(directory, config)
    except BaseException:
        store.close()
        raise
    return store, config


def configurations(directory: Path, store: Store, overrides: Iterable[str] = ()) -> tuple[Config, Config]:
    """Read how a run was configured so far, and how it is now, with edits of config.toml and `overrides`."""
    begun = load_config(EARLIER_DEFAULTS, store.meta("config"))
    path = directory / CONFIG_NAME
    edited = load_config(EARLIER_DEFAULTS, path) if path.is_file() else begun
    return begun, load_config(to_mapping(edited), overrides=overrides)


def versions(config: Config) -> dict[str, str]:
    """Tell what the run is made with, the prompts that it really uses included.

    Read from package metadata, so that nothing heavy is imported.
    """
    packages = {"python": platform.python_version()}
    for package in (*_VERSIONED, *(_VERSIONED_ON_VERL if config.engine.name == "verl" else ())):
        try:
            packages[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return {**packages, "prompts": ", ".join(_prompts(config))}


def _prompts(config: Config) -> list[str]:
    """List the versions of the texts that the policy is shown under this configuration."""
    if config.curriculum.name == "untrained":
        return []
    proposes = {"evoenv": GENERATOR_PROMPTS[config.generator.prompt], "r-zero": CHALLENGER_PROMPT}
    used = [proposes[config.curriculum.name]] if config.curriculum.name in proposes else []
    if config.curriculum.name == "evoenv":
        used += [TOPICS_PROMPT] * (config.generator.topics > 0)
        used += [REVIEW_PROMPT] * config.review.reads
        used += [RECOMPUTE_PROMPTS[config.review.program_prompt]] * config.review.recomputes
    if config.synth.repairs:
        used.append(REPAIR_PROMPT)
    return [*used, SOLVER_PROMPT]


def config_toml(config: Config) -> str:
    """Write the resolved tree as TOML."""
    lines: list[str] = []
    for section, values in to_mapping(config).items():
        lines.append(f"[{section}]")
        lines += [f"{key} = {toml_value(value)}" for key, value in values.items()]
        lines.append("")
    return "\n".join(lines)


def _write_config(directory: Path, config: Config) -> None:
    write_bytes(directory / CONFIG_NAME, config_toml(config).encode())


def _changes(begun: Config, config: Config) -> dict[str, Any]:
    old, new = to_mapping(begun), to_mapping(config)
    return {
        f"{section}.{key}": [old[section].get(key), value]
        for section, values in new.items()
        for key, value in values.items()
        if old[section].get(key) != value
    }


def _check_changes(begun: Config, config: Config) -> None:
    refused = sorted(set(_changes(begun, config)) - MAY_CHANGE)
    if refused:
        raise ConfigError(
            f"a resumed run cannot change {', '.join(refused)}: its records would mix two experiments. "
            f"Set it back (the run began with what `{CONFIG_NAME}` said then), or start a new run with --run"
        )


def _warn_of_schedule(config: Config) -> None:
    training, steps = config.training, config.run.steps
    if training.schedule != "linear":
        return
    if config.run.tokens_at_least:
        logger.warning("run.tokens_at_least may take the run beyond the end of the schedule, where the rate is 0")
    if 0 < training.schedule_steps < steps:
        logger.warning(
            "the learning rate is 0 after step %d, for which the run was begun; the steps up to %d change nothing",
            training.schedule_steps, steps,
        )  # fmt: skip


# --------------------------------------------------------------------------- the run


def check_trainable(config: Config) -> None:
    """Raise ConfigError if nothing could be trained with this configuration."""
    if config.model.base_url:
        raise ConfigError(
            f"model.base_url is {config.model.base_url!r}: a served model can only sample, so it cannot be trained. "
            "Use `evoenv synth` to build a pool with it, or leave model.base_url empty and name a local model"
        )
    if not config.calibration.enabled:
        raise ConfigError(
            "calibration.enabled is false: the generator's reward is made of the solver's pass rate, so training needs "
            "it; leave it true, or build a pool without training by `evoenv synth`"
        )
    if config.synth.repairs:
        raise ConfigError(
            f"synth.repairs is {config.synth.repairs}: candidates are repaired by `evoenv synth` alone, because a "
            "policy is rewarded for what it wrote at once; leave it out"
        )
    if config.run.candidates:
        raise ConfigError(
            f"run.candidates is {config.run.candidates}: it ends an `evoenv synth`; a training ends after run.steps or "
            "run.tokens. Leave it out"
        )
    if config.solver.responses_per_prompt == 1 and config.solver.prompts and config.curriculum.name != "untrained":
        raise ConfigError(
            "solver.responses_per_prompt is 1: a response is judged against the others of its group, so that one alone "
            "teaches nothing; expected 2 or more"
        )
    if config.run.steps < 1:
        raise ConfigError(f"run.steps is {config.run.steps}; expected 1 or more")
    check_curriculum(config)


def prepare(
    store: Store,
    config: Config,
    policy: Policy,
    sandbox: Sandbox,
    embedder: Embedder,
    *,
    originals: Mapping[str, str] | None = None,
    observer: Observer | None = None,
    training: bool = True,
) -> Run:
    """Put everything in place for the next step: enter the originals, fill the caches, restore the policy.

    `originals` are sources by name, those of `curriculum.environments` if None; a run that has its pool already
    keeps it.
    """
    curriculum = curriculum_of(config)
    if training and not policy.trainable:
        raise ConfigError(
            "this policy can only sample, so it cannot be trained; use `evoenv synth` to build a pool with it"
        )
    if not training and curriculum.name != "evoenv":
        raise ConfigError(
            f"curriculum.name is {curriculum.name!r}: a pool is synthesised by 'evoenv' alone; leave it out"
        )
    check_context(config, policy, training=training)
    _check_kind(store, training)
    workers = WorkerPool(sandbox)
    try:
        cache = NoveltyCache(0)
        if curriculum.environments:
            if not store.pool().members:
                if originals is None:
                    originals = load_environments(config.curriculum.environments)
                _enter_originals(store, workers, embedder, originals)
            _embed_imported(store, workers, embedder)
            cache = _known(store, workers, embedder, config)
    except BaseException:
        workers.close()
        raise
    run = Run(
        config=config,
        store=store,
        policy=policy,
        sandbox=sandbox,
        workers=workers,
        embedder=embedder,
        cache=cache,
        training=training,
        observer=observer or Unobserved(),
        prototypes=prototypes_of(record.tags for record in store.environments()),
    )
    restore_policy(run, curriculum.groups)
    return run


def check_context(config: Config, policy: Policy, *, training: bool) -> None:
    """Raise ConfigError if the longest prompt with the longest answer would not fit the policy's context."""
    context = policy.context if isinstance(policy, HasContext) else None
    if context is None:
        return
    proposes = config.curriculum.name in ("evoenv", "r-zero")
    review = config.review
    solves = config.curriculum.name != "untrained" and (training or config.calibration.enabled)
    reviewed = config.curriculum.name == "evoenv"
    for section, prompt, name, answer, asked in (
        ("generator", config.generator.max_prompt_tokens, "max_tokens", config.generator.max_tokens, proposes),
        ("solver", config.solver.max_prompt_tokens, "max_tokens", config.solver.max_tokens, solves),
        ("review", review.max_prompt_tokens, "max_tokens", review.max_tokens, reviewed and review.reads),
        (
            "review", review.max_prompt_tokens, "program_max_tokens", review.program_max_tokens,
            reviewed and review.recomputes,
        ),
    ):  # fmt: skip
        if asked and prompt + answer > context:
            raise ConfigError(
                f"{section}.max_prompt_tokens is {prompt} and {section}.{name} is {answer}; together they do not fit "
                f"the model's context of {context} tokens. Lower one of them by {prompt + answer - context}"
            )


def _check_kind(store: Store, training: bool) -> None:
    """Check that a run is trained from its first step on, or never: checkpoints and steps must pair."""
    begun = store.meta("training")
    if begun is None:
        store.set_meta("training", training)
    elif begun != training:
        was, other = ("train", "synth") if begun else ("synth", "train")
        raise ConfigError(
            f"this run was begun by `evoenv {was}` and cannot be continued by `evoenv {other}`; "
            f"continue it with `evoenv {was} --resume`, or start a new run"
        )


def advance(run: Run, steps: int | None = None) -> Sequence[StepSummary]:
    """Run until the configured steps (or `steps` more) or tokens are used up, or a stop is requested.

    A budget that is used up is raised to the caller; the run is whole and continues once the budget is raised.
    """
    curriculum = curriculum_of(run.config)
    last = None if steps is None else run.store.last_step() + steps
    summaries: list[StepSummary] = []
    try:
        while not (is_finished(run.store, run.config) if last is None else run.store.last_step() >= last):
            summaries.append(evolve(run, run.store.last_step() + 1, curriculum))
        if is_finished(run.store, run.config):
            save_last(run)
    except RunStopped as stopped:
        logger.info("%s; continue with --resume", stopped)
        run.store.add_event(None, "run-stopped", {"reason": str(stopped)})
    except BudgetExhausted as exhausted:
        run.store.add_event(None, "run-stopped", {"reason": str(exhausted)})
        raise
    finally:
        keep_spending(run)
    return summaries


def _enter_originals(store: Store, workers: WorkerPool, embedder: Embedder, originals: Mapping[str, str]) -> None:
    """Enter the first P, S and C. One transaction: a run never has half its originals."""
    if not originals:
        raise InputError("a run needs at least one original environment; none was given")
    templates = {name: _template(name, source, workers) for name, source in originals.items()}
    prompts = embedder.embed(list(templates.values()))
    codes = embedder.embed([clean_generate_body(source) for source in originals.values()])
    with store.transaction():
        records = [
            EnvironmentRecord(store.add_source(source), name, original=True, tags=tags_of(templates[name], source))
            for name, source in originals.items()
        ]
        store.add_environments(records)
        store.add_vectors({record.id: (prompts[row], codes[row]) for row, record in enumerate(records)})
        store.add_event(None, "originals", {record.id: record.name for record in records})


def _embed_imported(store: Store, workers: WorkerPool, embedder: Embedder) -> None:
    """Embed what `evoenv import` put into the pool: novelty is measured against all that was ever admitted."""
    sources = {source_id: store.source(source_id) or "" for source_id in store.without_vectors()}
    if not sources:
        return
    prompts = embedder.embed([_template(source_id, source, workers) for source_id, source in sources.items()])
    codes = embedder.embed([clean_generate_body(source) for source in sources.values()])
    store.add_vectors({source_id: (prompts[row], codes[row]) for row, source_id in enumerate(sources)})


def _known(store: Store, workers: WorkerPool, embedder: Embedder, config: Config) -> NoveltyCache:
    """Rebuild C, with the form that every generator prompt shows: a copy of it is nothing new.

    The form stands before all that was admitted, however much that is: the last bits of a similarity depend on the
    order of the rows, and a resumed run repeats them.
    """
    admitted = store.pool().admitted
    cache = NoveltyCache(len(store.vectors(admitted[:1])[0][0]))
    source = form_shown(config.generator.prompt)
    if source is not None and environment_id(source) not in admitted:
        prompts = embedder.embed([_template("of the generator's prompt", source, workers)])
        cache.add([store.add_source(source)], prompts, embedder.embed([clean_generate_body(source)]))
    return store.fill(cache)


def _template(name: str, source: str, workers: WorkerPool) -> str:
    """Return what novelty embeds as u: the class attribute, or a rendered prompt if there is none."""
    with workers.worker(source) as worker:
        if worker.failure is not None:
            raise InputError(f"the original environment {name} does not load: {worker.failure.message}")
        template = worker.description.get("template")
        if isinstance(template, str) and template:
            return template
        (instance,) = worker.instances([0], 0)
        if instance is None:
            raise InputError(f"the original environment {name} ({environment_id(source)}) generates no instance")
        return instance.prompt
