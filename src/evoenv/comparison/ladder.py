"""The headroom ladder: is there anything to gain at all, and how much of it does each curriculum reach?

    untrained ─► fixed-all (upper bound) ─► does it move beyond noise? ─► the other rungs

The upper bound trains on all families: whatever a curriculum makes of ten originals, it is not expected to do better.
If the upper bound does not move, the setting is wrong (the rate, the size, the number of responses), and the other runs
would measure noise. Everything here is computed from the files of the runs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evoenv.comparison.plan import (
    BASELINE,
    DONE,
    START,
    UPPER_BOUND,
    ComparisonPlan,
    RunPlan,
    SuiteSettings,
    config_of,
    evaluation_file,
    is_done,
    run_directory,
    variant_of,
)
from evoenv.comparison.weighing import HOW_WIDE, Gain, Measured, weigh
from evoenv.errors import InputError, StoreError
from evoenv.evaluation.protocol import Protocol, SuitePlan, check_protocol
from evoenv.wording import plural

RUNGS = (
    BASELINE, UPPER_BOUND, "fixed", "rlve", "evoenv", "evoenv-without-quality", "evoenv-without-diversity",
)  # fmt: skip
FIRST = (BASELINE, UPPER_BOUND)
"""What is run before it is decided whether the others are."""
SUITES = ("corpus:basic", "corpus:near", "corpus:held-out")
TEMPERATURES = (0.6, 1.0)
SAMPLES = 8
"""pass@8 needs eight samples."""
SAME_RESPONSES = frozenset({"untrained", "fixed", "fixed-all", "rlve"})
"""Curricula, beside `evoenv…`, whose every step has the same number of solver responses."""


# --------------------------------------------------------------------------- what is asked


def ladder_suites(
    suites: Sequence[str], temperatures: Sequence[float], settings: Mapping[str, Any], seed: int
) -> SuiteSettings:
    """Make a column of every suite at every temperature: the same problems, asked in two ways."""
    samples = settings.get("samples", SAMPLES)
    if samples < SAMPLES:
        raise InputError(f"--samples is {samples}; a ladder reports pass@{SAMPLES}: expected {SAMPLES} or more")
    plans = tuple(
        SuitePlan(**{
            **settings, "name": f"{suite} T={temperature:g}", "suite": suite, "samples": samples,
            "temperature": temperature,
        })
        for suite in suites
        for temperature in temperatures
    )  # fmt: skip
    protocol = Protocol(name="ladder", suites=plans, seed=seed)
    check_protocol(protocol, flags=True)
    return SuiteSettings(suites=tuple(plan.name for plan in plans), protocol=protocol, seed=seed)


def check_same_responses(names: Sequence[str]) -> None:
    """Refuse a budget of solver responses for curricula that draw as many as they need."""
    for name in names:
        if variant_of(name) not in SAME_RESPONSES and not name.startswith("evoenv"):
            raise InputError(
                f"a step of {name} has no fixed number of solver responses; give a budget by --steps or --tokens"
            )


def check_same_size(plan: ComparisonPlan) -> None:
    """Refuse a budget of solver responses for runs whose steps have different numbers of them."""
    sizes = {(config := config_of(run).solver).prompts * config.responses_per_prompt for run in plan.runs}
    if len(sizes) > 1:
        raise InputError(
            f"the runs have {' and '.join(map(str, sorted(sizes)))} solver responses a step, and are to be compared at "
            "equal responses; set solver.prompts and solver.responses_per_prompt for all of them alike"
        )


def check_ladder(plan: ComparisonPlan) -> None:
    """Refuse a ladder whose two tables would not mean the same."""
    check_same_responses(plan.curricula)
    check_same_size(plan)
    for run in plan.runs:
        if config_of(run).training.schedule != "constant":
            raise InputError(
                f"training.schedule is {config_of(run).training.schedule!r}: a ladder reads every run at two places, "
                "by responses and by tokens, and a falling rate has another height in each; leave it constant"
            )


def first_runs(plan: ComparisonPlan) -> tuple[RunPlan, ...]:
    return tuple(run for run in plan.runs if run.curriculum in FIRST)


def tokens_of_upper_bound(directory: Path, plan: ComparisonPlan) -> int:
    """Return what the upper bound spent, in the seed that spent most: the tokens at which all are compared."""
    spent = []
    for run in plan.runs:
        if run.curriculum == UPPER_BOUND and is_done(directory, plan, run):
            spent.append(int(read_json(run_directory(directory, run) / DONE)["tokens"]))
    if not spent:
        raise InputError(f"{directory} has no finished run of {UPPER_BOUND}; start the ladder again")
    return max(spent)


# --------------------------------------------------------------------------- what was measured


def read_measured(path: Path) -> Measured | None:
    """Read one evaluation of a run, or None if it was not made."""
    if not path.is_file():
        return None
    kept = read_json(path)
    try:
        samples, key = int(kept["samples"]), str(SAMPLES)
        levels = {
            level: (float(part["accuracy"]), float(part["pass_at"][key]), int(part["problems"]))
            for level, part in kept["by_level"].items()
        }
        right = tuple(count / samples for count in kept["right"])
        environments = _environments(kept)
        return Measured(float(kept["accuracy"]), float(kept["pass_at"][key]), right, levels, samples, environments)
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        raise StoreError(f"{path} is not an evaluation of a ladder ({error!r}); remove the run to repeat it") from error


def _environments(kept: Mapping[str, Any]) -> tuple[int, ...]:
    """Return which environment each problem is of; nothing if that is not known."""
    if "environments" in kept:
        return tuple(map(int, kept["environments"]))
    # earlier versions kept how many problems each has, one after the other; two of the same name are one entry
    sizes = [int(group["problems"]) for group in kept["by_environment"].values()]
    places = tuple(place for place, size in enumerate(sizes) for _ in range(size))
    return places if len(places) == len(kept["right"]) else ()


def read_start(directory: Path, plan: ComparisonPlan) -> dict[str, Measured]:
    """Read what the model could before training, by column."""
    names = enumerate(plan.evaluation.suites)
    return {name: kept for index, name in names if (kept := read_measured(directory / START / f"suite{index}.json"))}


def read_step(directory: Path, plan: ComparisonPlan, run: RunPlan, step: int) -> dict[str, Measured] | None:
    """Read the evaluation of a run at one step, by column; None if some column is missing."""
    place = run_directory(directory, run)
    columns: dict[str, Measured] = {}
    for index, name in enumerate(plan.evaluation.suites):
        kept = read_measured(place / evaluation_file(step, index))
        if kept is None:
            return None
        columns[name] = kept
    return columns


def evaluated_steps(directory: Path, run: RunPlan) -> list[int]:
    """List the steps at which a run was evaluated."""
    files = (run_directory(directory, run) / "evaluations").glob("step-*-suite0.json")
    return sorted(int(file.name.split("-")[1]) for file in files)


def read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StoreError(f"cannot read {path}: {error}; remove the run's directory to repeat it") from error


# --------------------------------------------------------------------------- does the upper bound move?


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether there is room: the upper bound against the untrained model."""

    average: Gain
    by_suite: dict[str, Gain]
    seeds: int

    @property
    def moved(self) -> bool:
        return self.average.moved

    @property
    def words(self) -> str:
        """Say it in one paragraph."""
        suites = "; ".join(f"{suite}: {gain.words}" for suite, gain in self.by_suite.items())
        head = (
            f"The upper bound ({UPPER_BOUND}, {plural(self.seeds, 'seed')}) gains {self.average.words} points over all "
            f"suites ({suites}). {HOW_WIDE}."
        )
        if self.seeds < 2:
            head += " How much seeds differ is not known from one."
        if self.moved:
            return f"{head} The gain is beyond noise: there is room for the other rungs."
        return (
            f"{head} The gain is within noise: with these settings nothing is learnt that the suites can show, "
            "whatever the curriculum. Try another rate, optimiser (training.optimizer=muon), more responses or more "
            "instances in another -o."
        )

    def to_json(self) -> dict[str, Any]:
        return {
            **self.average.to_json(), "moved": self.moved, "seeds": self.seeds,
            "by_suite": {suite: gain.to_json() for suite, gain in self.by_suite.items()},
        }  # fmt: skip


def judge_upper_bound(directory: Path, plan: ComparisonPlan) -> Verdict | None:
    """Compare the upper bound at the plan's steps with the untrained model; None as long as a run is missing."""
    start = read_start(directory, plan)
    runs = [run for run in plan.runs if run.curriculum == UPPER_BOUND]
    ends = [read_step(directory, plan, run, plan.steps) for run in runs]
    if not ends or len(start) < len(plan.evaluation.suites):
        return None
    whole = [end for end in ends if end is not None]
    return verdict_of(plan, start, whole) if len(whole) == len(ends) else None


def verdict_of(plan: ComparisonPlan, start: Mapping[str, Measured], ends: Sequence[Mapping[str, Measured]]) -> Verdict:
    """Weigh the gain of the upper bound over the untrained model against its noise."""
    return Verdict(*weigh(plan, [start], ends), len(ends))
