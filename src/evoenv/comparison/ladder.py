"""The headroom ladder: is there anything to gain at all, and how much of it does each curriculum reach?

    untrained ─► fixed-all (upper bound) ─► does it move beyond noise? ─► the other rungs

The upper bound trains on all families: whatever a curriculum makes of ten originals, it is not expected to do better.
If the upper bound does not move, the setting is wrong (the rate, the size, the number of responses), and the other runs
would measure noise. Everything here is computed from the files of the runs.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
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
NOISE = 2.0
"""Standard errors by which the upper bound must rise."""
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


@dataclass(frozen=True, slots=True)
class Measured:
    """One suite at one temperature, asked of one policy."""

    accuracy: float
    pass_at: float
    """pass@8."""
    right: tuple[float, ...]
    """The share of right samples of every problem."""
    levels: dict[str, tuple[float, float, int]]
    """Accuracy, pass@8 and the number of problems, by level."""
    samples: int
    """Of each problem."""

    @property
    def luck(self) -> float:
        """The variance of `accuracy` on these problems: other samples would give another share of right ones."""
        return math.fsum(share * (1 - share) for share in self.right) / (self.samples - 1) / len(self.right) ** 2


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
        return Measured(float(kept["accuracy"]), float(kept["pass_at"][key]), right, levels, samples)
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        raise StoreError(f"{path} is not an evaluation of a ladder ({error!r}); remove the run to repeat it") from error


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
class Gain:
    """A difference to the untrained model, or between two curricula, with its standard error."""

    gain: float
    error: float

    @property
    def moved(self) -> bool:
        return self.gain > NOISE * self.error

    def to_json(self) -> dict[str, Any]:
        return {"gain": self.gain, "standard_error": self.error, "moved": self.moved}

    @property
    def words(self) -> str:
        return f"{100 * self.gain:+.1f} points, standard error {100 * self.error:.1f}"


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
            f"The upper bound ({UPPER_BOUND}, {plural(self.seeds, 'seed')}) gains {self.average.words}, over all "
            f"suites ({suites})."
        )
        if self.moved:
            return f"{head} That is more than {NOISE:g} standard errors: there is room for the other rungs."
        return (
            f"{head} That is not more than {NOISE:g} standard errors: with these settings nothing is learnt that the "
            "suites can show, whatever the curriculum. Try another rate, optimiser (training.optimizer=muon), more "
            "responses or more instances in another -o."
        )

    def to_json(self) -> dict[str, Any]:
        return {
            **self.average.to_json(), "noise": NOISE, "seeds": self.seeds,
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


def weigh(
    plan: ComparisonPlan, before: Sequence[Mapping[str, Measured]], after: Sequence[Mapping[str, Measured]]
) -> tuple[Gain, dict[str, Gain]]:
    """Weigh what some runs have over others, on the same problems, against its noise: on average, and by suite.

    A suite's gain is the mean over its problems of what all seeds and temperatures gained there. Two errors are added
    as squares: that of problems and samples, and that of the seeds on either side (nothing if there is one alone).
    Samples are luck in both, so that the sum is rather too large. It is the error for other instances of these
    environments; for other environments, whose instances rise and fall together, it would be larger.
    """
    columns: dict[str, list[str]] = {}
    for asked in plan.evaluation.plans.suites:
        columns.setdefault(asked.suite, []).append(asked.name)
    by_suite: dict[str, Gain] = {}
    problem_errors: list[float] = []
    means_by_seed: list[tuple[list[float], list[float]]] = []
    for suite, names in columns.items():
        old, new = ([_average_lists([run[name].right for name in names]) for run in runs] for runs in (before, after))
        per_problem = _differences(_average_lists(old), _average_lists(new))
        seeds = [_mean(values) for values in old], [_mean(values) for values in new]
        problem_errors.append(_error(per_problem))
        means_by_seed.append(seeds)
        by_suite[suite] = Gain(_mean(per_problem), math.hypot(problem_errors[-1], *map(_error, seeds)))
    # suites share their seeds and nothing else
    seeds = _average_lists([old for old, _ in means_by_seed]), _average_lists([new for _, new in means_by_seed])
    error = math.hypot(math.hypot(*problem_errors) / len(by_suite), *map(_error, seeds))
    return Gain(_mean([gain.gain for gain in by_suite.values()]), error), by_suite


def _average_lists(lists: Sequence[Sequence[float]]) -> list[float]:
    """Average several lists, place by place."""
    return [_mean(values) for values in _by_place(lists)]


def _differences(before: Sequence[float], after: Sequence[float]) -> list[float]:
    return [new - old for old, new in _by_place([before, after])]


def _by_place(lists: Sequence[Sequence[float]]) -> Iterator[tuple[float, ...]]:
    """Pair what several lists have at the same place: evaluations of the same problems."""
    sizes = sorted({len(values) for values in lists})
    if len(sizes) > 1:
        raise StoreError(
            f"evaluations have {' and '.join(map(str, sizes))} problems; expected the same ones: remove the run's "
            "directory to repeat it"
        )
    return zip(*lists, strict=True)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _error(values: Sequence[float]) -> float:
    """Compute the standard error of a mean; 0 for one value alone, about which nothing is known."""
    return statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0
