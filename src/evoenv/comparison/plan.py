"""What a comparison does, as one JSON file in its directory: the curricula, the seeds, the budget, the suites."""

from __future__ import annotations

import csv
import difflib
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from evoenv.config import Config, load_config, to_mapping
from evoenv.durable import write_bytes
from evoenv.environment.sets import CORPUS, SPLITS
from evoenv.errors import InputError
from evoenv.evaluation.protocol import Protocol, SuitePlan
from evoenv.settings import run_config
from evoenv.store.database import DATABASE_NAME
from evoenv.store.store import Store

PLAN, RUNS, START, DONE, LOG, SERIES = "plan.json", "runs", "start", "done.json", "log.txt", "series.csv"
BASELINE, UPPER_BOUND = "untrained", "fixed-all"
LABEL = "@"
"""Stands between a curriculum and the label of one with settings of its own."""
ENVIRONMENTS = "curriculum.environments"
UNBOUNDED_STEPS = 1_000_000_000
"""The step limit of a run that a token budget ends."""

VARIANTS: dict[str, tuple[str, ...]] = {
    "untrained": ("curriculum.name=untrained",),
    "fixed": ("curriculum.name=fixed",),
    "fixed-all": ("curriculum.name=fixed",),
    "rlve": ("curriculum.name=rlve",),
    "dapo": ("curriculum.name=dapo",),
    "r-zero": ("curriculum.name=r-zero",),
    "evoenv": ("curriculum.name=evoenv", "generator.reward=full"),
    "evoenv-without-quality": ("curriculum.name=evoenv", "generator.reward=without-quality"),
    "evoenv-without-diversity": ("curriculum.name=evoenv", "generator.reward=without-diversity"),
    "evoenv-recomputing": (
        "curriculum.name=evoenv", "generator.reward=full", "review.enabled=true", "review.kind=recomputing",
    ),
    "evoenv-without-review": ("curriculum.name=evoenv", "generator.reward=full", "review.enabled=false"),
}  # fmt: skip
"""What can be compared, and the settings that make it. `fixed-all` has all families to train on (`all_families`)."""
SET_BY_COMPARE = {
    "run.seed": "--seeds",
    "run.steps": "--steps",
    "run.tokens": "--tokens",
    "run.tokens_at_least": "--ladder --equal-tokens",
    "curriculum.name": "--curricula",
    "generator.reward": "--curricula (evoenv-without-quality, evoenv-without-diversity)",
    "run.candidates": "--steps or --tokens",
}


class SuiteSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How held-out accuracy is measured: the same problems and sampling seeds for every run and step."""

    suites: tuple[str, ...]
    difficulties: tuple[int, ...] = (0, 1, 2)
    instances: int = 4
    programs: int | None = None
    """Corpus programs in all; None: one of every family."""
    limit: int | None = None
    """Of a benchmark file, the first N problems."""
    samples: int = 4
    temperature: float = 0.6
    top_p: float = 0.95
    max_tokens: int = 1024
    seed: int = 0
    protocol: Protocol | None = None
    """How each suite is asked, if not all alike; `suites` are its columns then."""

    @property
    def plans(self) -> Protocol:
        """Every suite with how it is asked."""
        if self.protocol is not None:
            return self.protocol
        plans = tuple(
            SuitePlan(
                name=text, suite=text, samples=self.samples, temperature=self.temperature, top_p=self.top_p,
                max_tokens=self.max_tokens, difficulties=self.difficulties, instances=self.instances,
                programs=self.programs, limit=self.limit,
            )
            for text in self.suites
        )  # fmt: skip
        return Protocol(name="suites", suites=plans, seed=self.seed)


class RunPlan(msgspec.Struct, frozen=True, kw_only=True):
    """One run: a curriculum with a random seed."""

    curriculum: str
    seed: int
    config: dict[str, Any]

    @property
    def name(self) -> str:
        return f"{self.curriculum}-seed{self.seed}"

    @property
    def trains(self) -> bool:
        return self.curriculum != BASELINE


class ComparisonPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A whole comparison. Exactly one of `steps` and `tokens` is not 0."""

    model: str
    steps: int = 0
    tokens: int = 0
    eval_every: int = 0
    """Steps between evaluations; 0: at the start and at the end only."""
    evaluation: SuiteSettings
    runs: tuple[RunPlan, ...]
    own_settings: dict[str, tuple[str, ...]] = {}
    """Settings that one curriculum alone was given, by its name."""
    allow_degraded: bool = False
    ladder: bool = False
    """Whether the upper bound is run first, and nothing else if it does not move."""
    equal_tokens: int = 0
    """Tokens that every run reaches and is evaluated at, beside its `steps`; 0: none (yet)."""

    @property
    def curricula(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(run.curriculum for run in self.runs))

    @property
    def budget(self) -> str:
        return f"{self.steps:,} steps" if self.steps else f"{self.tokens:,} tokens"

    @property
    def goal(self) -> list[int]:
        """What a run must have reached to be done."""
        return [self.steps, self.tokens, *([self.equal_tokens] if self.equal_tokens else [])]


def variant_of(name: str) -> str:
    """Return the curriculum that a name stands for: `evoenv@wide` is `evoenv` with settings of its own."""
    return name.partition(LABEL)[0]


def parse_names(text: str) -> tuple[str, ...]:
    """Read `a,b,c` as names of curricula, each with a label of its own or without: `evoenv,evoenv@wide`."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        variant, at, label = name.partition(LABEL)
        if variant not in VARIANTS:
            near = difflib.get_close_matches(variant, VARIANTS, n=1)
            advice = f"did you mean {near[0]!r}?" if near else f"expected some of {', '.join(VARIANTS)}"
            raise InputError(f"--curricula: there is no curriculum {variant!r}; {advice}")
        if at and (variant == BASELINE or not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", label)):
            raise InputError(
                f"--curricula: {name!r} is no name for a curriculum with settings of its own; expected one that "
                f"trains, and small letters, digits and hyphens behind the {LABEL}, for example evoenv{LABEL}wide"
            )
    if not names or len(set(names)) < len(names):
        raise InputError(f"--curricula is {text!r}; expected different names, for example untrained,fixed,evoenv")
    return tuple(names)


def parse_numbers(text: str, flag: str) -> tuple[int, ...]:
    """Read `0,1,2` as different numbers, none negative."""
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if not numbers or min(numbers) < 0 or len(set(numbers)) < len(numbers):
        raise InputError(f"{flag} is {text!r}; expected different whole numbers from 0 on, for example 0,1,2")
    return tuple(numbers)


def split_overrides(overrides: Sequence[str], names: Sequence[str]) -> tuple[list[str], dict[str, tuple[str, ...]]]:
    """Separate settings for every run (`a.b=v`) from those of one curriculum (`rlve:a.b=v`), which go by its name."""
    shared: list[str] = []
    own: dict[str, tuple[str, ...]] = {}
    for text in overrides:
        key, _, value = text.partition("=")
        curriculum, colon, setting = key.partition(":")
        if not colon:
            _check_setting(key, key)
            shared.append(text)
            continue
        curriculum, setting = curriculum.strip(), setting.strip()
        if curriculum not in names:
            raise InputError(
                f"--set {text}: {curriculum!r} is none of the compared curricula; expected one of {', '.join(names)} "
                "before the colon, or no colon for a setting of every run"
            )
        _check_setting(setting, f"{curriculum}:{setting}")
        if setting.startswith("model."):
            raise InputError(
                f"--set {curriculum}:{setting}: all curricula start from one model; leave {curriculum}: out to set it "
                "for every run, or compare another model in a directory of its own"
            )
        own[curriculum] = (*own.get(curriculum, ()), f"{setting}={value}")
    return shared, own


def _check_setting(setting: str, written: str) -> None:
    if setting.strip() in SET_BY_COMPARE:
        raise InputError(f"--set {written}: a comparison sets it for each run; use {SET_BY_COMPARE[setting.strip()]}")


def run_settings(curriculum: str, seed: int, steps: int, tokens: int) -> list[str]:
    """Return the settings that make one run of a comparison, as overrides."""
    return [
        *VARIANTS[variant_of(curriculum)],
        f"run.seed={seed}",
        f"run.steps={steps or UNBOUNDED_STEPS}",
        f"run.tokens={tokens}",
    ]


def make_plan(
    names: Sequence[str],
    seeds: Sequence[int],
    *,
    evaluation: SuiteSettings,
    preset: str | None = None,
    file: Path | None = None,
    defaults: Sequence[str] = (),
    overrides: Sequence[str] = (),
    steps: int = 0,
    tokens: int = 0,
    eval_every: int = 0,
    allow_degraded: bool = False,
    ladder: bool = False,
    equal_tokens: int = 0,
) -> ComparisonPlan:
    """Plan a run of every curriculum in `names` with every seed, each of `steps` or of `tokens`.

    `overrides` are the user's settings and win over `defaults`; one that begins with a curriculum's name and a colon is
    for its runs alone. An evaluation without `max_tokens` may answer as long as the solver in training, by the
    settings that all runs share.
    """
    shared, own_settings = split_overrides(overrides, names)
    # A checkpoint is needed to resume and at the end, not for every step; a user's own setting comes later and wins.
    own = [*defaults, f"run.checkpoint_every={eval_every or 10}", "run.keep_checkpoints=1", *shared]
    first = run_config(preset, file, [*own, *run_settings(names[0], seeds[0], steps, tokens)])
    for name in names:
        if LABEL in name and name not in own_settings:
            raise InputError(
                f"{name} differs from {variant_of(name)} in nothing; give it a setting: --set {name}:section.key=value"
            )
        its_own = own_settings.get(name, ())
        if variant_of(name) == UPPER_BOUND and not any(setting.startswith(f"{ENVIRONMENTS}=") for setting in its_own):
            own_settings[name] = (f"{ENVIRONMENTS}={all_families(first.curriculum.environments)}", *its_own)
    configs = {
        (name, seed): run_config(
            preset, file, [*own, *own_settings.get(name, ()), *run_settings(name, seed, steps, tokens)]
        )
        for name in names
        for seed in seeds
    }
    if not evaluation.max_tokens:
        evaluation = msgspec.structs.replace(evaluation, max_tokens=first.solver.max_tokens)
    plan = ComparisonPlan(
        model=first.model.name,
        steps=steps,
        tokens=tokens,
        eval_every=eval_every,
        evaluation=evaluation,
        runs=tuple(
            RunPlan(curriculum=name, seed=seed, config=to_mapping(config)) for (name, seed), config in configs.items()
        ),
        own_settings=own_settings,
        allow_degraded=allow_degraded,
        ladder=ladder,
    )
    return with_equal_tokens(plan, equal_tokens)


def all_families(environments: str) -> str:
    """Name all families of the part of the corpus that some environments are taken from; of `train` if of none."""
    kind, _, rest = environments.partition(":")
    split = rest.partition(":")[0]
    return f"{CORPUS}:{split if kind == CORPUS and split in SPLITS else 'train'}"


def with_equal_tokens(plan: ComparisonPlan, tokens: int) -> ComparisonPlan:
    """Let every run go on until it has spent this many tokens, and be evaluated there; 0: as far as its steps."""
    runs = []
    for run in plan.runs:
        budget = {**run.config["run"], "tokens_at_least": tokens if run.trains else 0}  # untrained: spends none
        runs.append(msgspec.structs.replace(run, config={**run.config, "run": budget}))
    return msgspec.structs.replace(plan, runs=tuple(runs), equal_tokens=tokens)


# --------------------------------------------------------------------------- the directory


def read_plan(directory: Path) -> ComparisonPlan | None:
    """Read the plan in `directory`; None if there is none yet."""
    try:
        raw = (directory / PLAN).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"cannot read {directory / PLAN}: {error.strerror}; choose another -o") from error
    try:
        return msgspec.json.decode(raw, type=ComparisonPlan)
    except msgspec.DecodeError as error:
        raise InputError(f"{directory / PLAN} is not the plan of a comparison ({error}); choose another -o") from error


def continued(directory: Path, plan: ComparisonPlan) -> ComparisonPlan:
    """Add the runs that `directory` has from before to the plan; raise InputError if it would not continue those."""
    before = read_plan(directory)
    if before is None:
        _check_empty(directory)
        return plan
    _check_continues(directory, before, plan)
    plan = _with_earlier_runs(before, plan)
    # Found once, the common number of tokens stays: with more seeds the upper bound would give another one.
    keeps = before.steps == plan.steps and not plan.equal_tokens
    return with_equal_tokens(plan, before.equal_tokens if keeps else plan.equal_tokens)


def write_plan(directory: Path, plan: ComparisonPlan) -> None:
    write_json(directory / PLAN, msgspec.to_builtins(plan))


def _check_empty(directory: Path) -> None:
    place = directory.absolute()
    while not place.exists():
        place = place.parent
    if not place.is_dir() or not os.access(place, os.W_OK):
        raise InputError(f"-o {directory}: {place} is not a directory to write in; choose another")
    if directory.is_dir() and any(directory.iterdir()):
        raise InputError(f"-o {directory} is not empty and holds no comparison; choose another")


def _check_continues(directory: Path, before: ComparisonPlan, plan: ComparisonPlan) -> None:
    """Refuse a change of what is measured; more curricula, seeds, steps or tokens may be asked for."""
    measured = ("model", "eval_every", "evaluation", "ladder")
    changed = [name for name in measured if getattr(before, name) != getattr(plan, name)]
    if bool(before.steps) != bool(plan.steps):
        changed.append("the kind of budget")
    earlier = {run.name: run for run in before.runs}
    for run in plan.runs:
        if run.name in earlier:
            changed += [f"{run.name}: {key}" for key in _differences(earlier[run.name].config, run.config)]
    if changed:
        raise InputError(
            f"{directory} holds another comparison: {'; '.join(changed[:5])} differs. "
            "Repeat the command as it was to continue it, or choose another -o"
        )
    if plan.steps < before.steps or plan.tokens < before.tokens:
        raise InputError(f"{directory} was begun with {before.budget}; a budget can be raised, not lowered")
    if plan.equal_tokens and before.equal_tokens and plan.equal_tokens != before.equal_tokens:
        raise InputError(
            f"{directory} compares at {before.equal_tokens:,} tokens, and its runs were evaluated there; leave "
            "--equal-tokens out, or choose another -o"
        )
    if plan.ladder and plan.steps > before.steps:
        _check_not_passed(directory, before, plan.steps)


def _check_not_passed(directory: Path, before: ComparisonPlan, steps: int) -> None:
    """Refuse a number of steps that a run has gone beyond for its tokens: it cannot be evaluated there any more."""
    for run in before.runs:
        place = run_directory(directory, run)
        reached = int(_done_state(directory, run).get("steps", 0))
        if (place / DATABASE_NAME).is_file():  # it may have been stopped on its way
            with Store.read(place) as store:
                reached = max(reached, store.last_step())
        if reached > steps and not any((place / "evaluations").glob(f"step-{steps:05d}-*")):
            raise InputError(
                f"{run.name} in {directory} went on to step {reached} for its tokens and was not evaluated at step "
                f"{steps}; ask for {reached} steps or more, or choose another -o"
            )


_BUDGET = {"run.steps", "run.tokens", "run.tokens_at_least"}


def _differences(one: Mapping[str, Mapping[str, Any]], other: Mapping[str, Mapping[str, Any]]) -> list[str]:
    # resolved again, so that a setting that did not exist when the comparison was begun has its default on both sides
    a, b = to_mapping(load_config(one)), to_mapping(load_config(other))
    keys = [f"{section}.{key}" for section in a for key in a[section] if a[section][key] != b[section][key]]
    return [key for key in keys if key not in _BUDGET]


def _with_earlier_runs(before: ComparisonPlan, plan: ComparisonPlan) -> ComparisonPlan:
    """Keep the runs that were asked for before in the plan, under the budget asked for now."""
    named = {run.name for run in plan.runs}
    kept = []
    for run in before.runs:
        if run.name not in named:
            budget = {"steps": plan.steps or UNBOUNDED_STEPS, "tokens": plan.tokens}
            kept.append(
                RunPlan(
                    curriculum=run.curriculum,
                    seed=run.seed,
                    config={**run.config, "run": {**run.config["run"], **budget}},
                )
            )
    return msgspec.structs.replace(
        plan, runs=(*kept, *plan.runs), own_settings={**before.own_settings, **plan.own_settings}
    )


def config_of(run: RunPlan) -> Config:
    return load_config(run.config)


def run_directory(directory: Path, run: RunPlan) -> Path:
    return directory / RUNS / run.name


def is_done(directory: Path, plan: ComparisonPlan, run: RunPlan) -> bool:
    """Say whether the run has reached the plan's budget and left its series.

    A run that ended before a common number of tokens was named is done all the same if it was evaluated there: its
    weights may be gone.
    """
    budget = _done_state(directory, run).get("budget")
    if budget == plan.goal:
        return True
    return bool(plan.equal_tokens) and budget == plan.goal[:2] and _was_evaluated_at_tokens(directory, plan, run)


def _was_evaluated_at_tokens(directory: Path, plan: ComparisonPlan, run: RunPlan) -> bool:
    if not run.trains:
        return True  # it spends none
    place = run_directory(directory, run)
    try:
        with (place / SERIES).open(newline="", encoding="utf-8") as stream:
            spent = [(int(row["step"]), int(row["tokens"])) for row in csv.DictReader(stream)]
    except (OSError, ValueError, KeyError, TypeError, csv.Error):
        return False
    step = next((step for step, tokens in spent if tokens >= plan.equal_tokens), None)
    suites = range(len(plan.evaluation.suites))
    return step is not None and all((place / evaluation_file(step, index)).is_file() for index in suites)


def evaluation_file(step: int, suite: int) -> str:
    """Return where a run keeps the evaluation of a step on one of the plan's suites, inside its directory."""
    return f"evaluations/step-{step:05d}-suite{suite}.json"


def _done_state(directory: Path, run: RunPlan) -> dict[str, Any]:
    """Read what a run wrote at its end; nothing if it has not come there."""
    try:
        state = msgspec.json.decode((run_directory(directory, run) / DONE).read_bytes())
    except (OSError, msgspec.DecodeError):
        return {}
    return state if isinstance(state, dict) else {}


def write_json(path: Path, document: Any) -> None:
    """Write a JSON file, whole or not at all."""
    write_bytes(path, msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n")
