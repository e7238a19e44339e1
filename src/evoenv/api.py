"""Train, synthesise and evaluate from a program. The command line calls the same functions.

    config = load_config(preset("nano"), overrides=["run.steps=4"])
    result = train(config, "runs/mine")

`evoenv.validate` is in `evoenv.checking`, apart, because it needs neither numpy nor a model.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from evoenv.assembly import open_ports
from evoenv.config import Config, load_config, to_mapping
from evoenv.errors import BudgetExhausted, InputError
from evoenv.evaluation import Evaluation, Suite, find_suite
from evoenv.evaluation.sitting import open_sitting
from evoenv.evaluation.subject import Subject, model_subject, policy_subject, run_subject
from evoenv.ports import Policy, Spending, Spends
from evoenv.records import StepSummary
from evoenv.run import advance, check_begun, check_free, check_trainable, configurations, create, prepare, reopen
from evoenv.stages.budget import is_finished
from evoenv.stages.context import Observer, Observers, Run, Unobserved
from evoenv.store.store import Store
from evoenv.writers import MetricWriters, check_writers

Watch: TypeAlias = Callable[[Run], AbstractContextManager[Observer]]
"""Opens what watches a run, once it is ready for its next step; closed when the run ends or is stopped."""
Preparing: TypeAlias = Callable[[], AbstractContextManager[object]]
"""Entered while the first environments are entered and a checkpoint is loaded."""

SYNTHESIS = {"generator": {"prompts": 16, "candidates_per_prompt": 1}}
"""Settings below a synthesis: without groups to compare, every candidate gets a prompt of its own."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """How far a call brought a run."""

    directory: Path
    steps: tuple[StepSummary, ...]
    """The steps that this call took, one summary each."""
    finished: bool
    """False if it was stopped, or a budget was used up: call again without a configuration to go on."""
    exhausted: str | None = None
    """Which budget was used up, in words."""
    spending: Spending | None = None
    """What a served model has used; None for a model on this machine."""


# --------------------------------------------------------------------------- training


def train(
    config: Config | None,
    run_directory: str | Path,
    *,
    overrides: Sequence[str] = (),
    policy: Policy | None = None,
    watch: Watch | None = None,
    preparing: Preparing = nullcontext,
    allow_degraded: bool = False,
) -> RunResult:
    """Train a model on the environments that it writes, until the configured steps or tokens are used up.

    `run_directory` is new, or empty; everything that happens is kept there. With None for `config` the run in it is
    continued from where it was stopped, by whatever; `overrides` (`run.steps=40`) say what should change.
    `policy` is used instead of opening the configured model; it keeps checkpoints where it was told to when it was
    opened. `watch` gives the observer that is told of every stage.
    """
    directory = Path(run_directory)
    _check_directory(directory, new=config is not None)
    if config is not None:
        config = load_config(to_mapping(config), overrides=overrides)
        check_trainable(config)
    return _run(
        config, directory, overrides, training=True, policy=policy, watch=watch, preparing=preparing,
        allow_degraded=allow_degraded,
    )  # fmt: skip


# --------------------------------------------------------------------------- synthesis


def synthesise(
    config: Config | None,
    run_directory: str | Path,
    *,
    overrides: Sequence[str] = (),
    policy: Policy | None = None,
    watch: Watch | None = None,
    preparing: Preparing = nullcontext,
    allow_degraded: bool = False,
) -> RunResult:
    """Let a model write `run.candidates` environments and keep those that pass; nothing is trained.

    As with `train`, None for `config` continues the run that is in `run_directory`.
    """
    directory = Path(run_directory)
    _check_directory(directory, new=config is not None)
    if config is None:
        overrides = [*overrides, f"run.steps={_steps_in_all(directory, overrides)}"]
    else:
        config = load_config(to_mapping(config), overrides=overrides)
        check_synthesis(config)
        steps = math.ceil(config.run.candidates / _batch_size(config))
        config = load_config(to_mapping(config), overrides=[f"run.steps={steps}"])
    return _run(
        config, directory, overrides, training=False, policy=policy, watch=watch, preparing=preparing,
        allow_degraded=allow_degraded,
    )  # fmt: skip


def check_synthesis(config: Config) -> None:
    """Raise InputError if no pool could be synthesised with this configuration."""
    if config.run.candidates < 1:
        raise InputError(f"--candidates is {config.run.candidates}; expected how many are to be proposed, 1 or more")
    prices = config.endpoint
    if (prices.token_budget or prices.money_budget) and not config.model.base_url:
        raise InputError(
            "--token-budget and --money-budget count what a server is asked, and the author is a model in this "
            "process; use --candidates or --minutes"
        )
    if prices.money_budget and not (prices.input_price or prices.output_price):
        raise InputError("--money-budget needs --input-price and --output-price (per million tokens) to be measured")
    _check_solver(config)


def _check_solver(config: Config) -> None:
    """Check a solver of its own: named, reachable by a URL, priced if money counts, and with something to do."""
    endpoint = config.endpoint
    if endpoint.solver_base_url and not endpoint.solver_model:
        raise InputError("--solver-base-url needs --solver-model M: the name under which that server knows the solver")
    if not endpoint.solver_model:
        return
    if not config.model.base_url:
        raise InputError("--solver-model needs --base-url: a local author solves by itself")
    if not config.calibration.enabled:
        raise InputError(
            "--solver-model answers in the calibration, which --no-calibration leaves out; drop one of them"
        )
    if endpoint.solver_base_url and not endpoint.solver_base_url.startswith(("http://", "https://")):
        raise InputError(
            f"--solver-base-url is {endpoint.solver_base_url!r}; expected http:// or https://, as in "
            "http://localhost:8000/v1"
        )
    if endpoint.money_budget and not (endpoint.solver_input_price or endpoint.solver_output_price):
        raise InputError(
            "--money-budget with --solver-model needs --solver-input-price and --solver-output-price to be measured"
        )


def _batch_size(config: Config) -> int:
    size = config.generator.prompts * config.generator.candidates_per_prompt
    if size < 1:
        raise InputError("generator.prompts and generator.candidates_per_prompt must be 1 or more")
    return size


def _steps_in_all(directory: Path, overrides: Sequence[str]) -> int:
    """Return the step at which the wanted number of candidates is reached; earlier steps may have been short."""
    with Store.read(directory) as store:
        _, config = configurations(directory, store, overrides)
        done = store.last_step()
        left = config.run.candidates - store.count_candidates(before_step=done + 1)
    return done + max(0, math.ceil(left / _batch_size(config)))


# --------------------------------------------------------------------------- what both share


def _check_directory(directory: Path, *, new: bool) -> None:
    if new:
        check_free(directory)
    else:
        check_begun(directory)


def _run(
    config: Config | None,
    directory: Path,
    overrides: Sequence[str],
    *,
    training: bool,
    policy: Policy | None,
    watch: Watch | None,
    preparing: Preparing,
    allow_degraded: bool,
) -> RunResult:
    with ExitStack() as stack:
        store: Store | None = None
        if config is None:
            store, config = reopen(directory, overrides, check_trainable if training else check_synthesis)
            stack.callback(store.close)
        check_writers(config.run.writers)
        ports = stack.enter_context(
            open_ports(config, learns=training, run_directory=directory, allow_degraded=allow_degraded, policy=policy)
        )
        if store is None:  # last, so that a model that does not load leaves no run behind
            store, config = create(directory, config)
            stack.callback(store.close)
        with preparing():
            run = stack.enter_context(prepare(store, config, *ports, training=training))
        writers = MetricWriters(config.run.writers, store)
        stack.callback(writers.close)
        exhausted: str | None = None
        steps: Sequence[StepSummary] = ()
        with (watch or _unwatched)(run) as observer:
            run.observer = Observers([observer, writers])
            try:
                steps = advance(run)
            except BudgetExhausted as error:
                exhausted = str(error)
        spending = ports.policy.spending if isinstance(ports.policy, Spends) else None
        return RunResult(directory, tuple(steps), is_finished(store, config), exhausted, spending)


@contextmanager
def _unwatched(run: Run) -> Iterator[Observer]:
    yield Unobserved()


# --------------------------------------------------------------------------- evaluation


def evaluate(
    subject: str | Path | Policy,
    suite: str | Suite,
    *,
    samples: int = 1,
    temperature: float = 0.6,
    top_p: float = 0.95,
    max_tokens: int = 2048,
    difficulties: Sequence[int] = (0, 1, 2),
    instances: int = 4,
    seed: int = 0,
    results: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
    allow_degraded: bool = False,
) -> Evaluation:
    """Ask every problem of a suite `samples` times and grade the responses.

    `subject` is a model's name, the `Path` of a run (its newest checkpoint), or a policy that is open already.
    `suite` is what `evoenv eval --suite` takes: `seeds`, `corpus:held-out`, `run:DIR`, the path of a file or folder of
    environments, `math:FILE.jsonl`; or a suite that was made before. Of environments, `instances` are drawn at each of
    `difficulties`. With `results` every graded sample is kept in that file, and what is in it is not asked again.
    """
    if isinstance(suite, str):
        suite = find_suite(
            suite, difficulties=difficulties, instances=instances, seed=seed, allow_degraded=allow_degraded
        )
    with open_sitting(_subject_of(subject), [suite], allow_degraded=allow_degraded) as sitting:
        return sitting.evaluate(
            suite, samples=samples, temperature=temperature, top_p=top_p, max_tokens=max_tokens, results=results,
            progress=progress,
        )  # fmt: skip


def _subject_of(subject: str | Path | Policy) -> Subject:
    if isinstance(subject, str):
        return model_subject(subject)
    return run_subject(subject) if isinstance(subject, Path) else policy_subject(subject)
