"""What a comparison comes to: means over seeds with intervals, differences to the untrained model, and the files."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from evoenv.comparison.figures import write_figures
from evoenv.comparison.plan import BASELINE, START, ComparisonPlan, is_done, write_json
from evoenv.comparison.series import ACCURACY, ComparedRun, read_runs
from evoenv.comparison.series import to_csv as series_csv
from evoenv.durable import write_bytes
from evoenv.wording import plural

T_975 = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
"""The 97.5% point of Student's t for 1, 2, … degrees of freedom; beyond the table 1.96 and a little."""


SHARED = (
    "over problems and samples. It is evaluated once for all runs, and every run is asked the same problems, so that "
    "this uncertainty is common to all rows and in none of the intervals above."
)


AVERAGE = "Avg"
"""The column of the mean over all suites."""


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over random seeds; `half` is half the width of its 95% interval, None if there is one seed alone."""

    mean: float
    half: float | None
    n: int

    def to_json(self) -> dict[str, Any]:
        low, high = (None, None) if self.half is None else (self.mean - self.half, self.mean + self.half)
        return {"mean": self.mean, "low": low, "high": high, "n": self.n}


def mean_of(values: Sequence[float]) -> Mean:
    """Compute the mean and Student's interval: seeds are few, and a normal one would be far too narrow."""
    count = len(values)
    mean = math.fsum(values) / count
    if count < 2:
        return Mean(mean, None, count)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (count - 1))
    return Mean(mean, student(count - 1) * deviation / math.sqrt(count), count)


def student(freedom: float) -> float:
    """Return the 97.5% point of Student's t; between whole degrees of freedom it is nearly linear in their inverse."""
    if freedom >= len(T_975):
        return 1.96 + 2.4 / freedom
    below = max(1, math.floor(freedom))
    low, high = T_975[below - 1], T_975[below] if below < len(T_975) else T_975[-1]
    return high + (low - high) * max(0.0, below * (below + 1) / max(freedom, 1.0) - below)


@dataclass(frozen=True, slots=True)
class Line:
    """One curriculum on one suite."""

    curriculum: str
    suite: str
    seeds: tuple[int, ...]
    steps: Mean
    tokens: Mean
    start: Mean
    final: Mean
    difference: Mean | None
    """Final accuracy less the untrained model's, paired by seed; None without an untrained run of the same seeds."""
    best: Mean
    """The highest of the accuracies on the way, for an eye on instability; choosing by it would be cheating."""
    training: Mean | None
    """Mean training score of the last tenth of the steps."""

    def to_json(self) -> dict[str, Any]:
        values = {
            name: None if (value := getattr(self, name)) is None else value.to_json()
            for name in ("steps", "tokens", "start", "final", "difference", "best", "training")
        }
        return {"curriculum": self.curriculum, "suite": self.suite, "seeds": list(self.seeds), **values}


def lines_of(plan: ComparisonPlan, runs: Sequence[ComparedRun]) -> list[Line]:
    """Make the lines of the table, suite by suite, curricula in the order in which they were asked for."""
    return [line for suite in plan.evaluation.suites for line in _lines(plan, runs, suite, [ACCURACY + suite])]


def averages_of(plan: ComparisonPlan, runs: Sequence[ComparedRun]) -> list[Line]:
    """Make the lines of the mean over all suites, each with the same weight; none if there is one suite alone."""
    if len(plan.evaluation.suites) < 2:
        return []
    return _lines(plan, runs, AVERAGE, [ACCURACY + suite for suite in plan.evaluation.suites])


def _lines(plan: ComparisonPlan, runs: Sequence[ComparedRun], label: str, columns: Sequence[str]) -> list[Line]:
    """Make one line for every curriculum, on the mean of `columns`."""
    accuracies = {(run.curriculum, run.seed): values for run in runs if (values := _accuracies(run, columns))}
    lines = []
    for name in plan.curricula:
        own = [run for run in runs if run.curriculum == name and (name, run.seed) in accuracies]
        if own:
            lines.append(_line(name, label, own, accuracies))
    return lines


def _accuracies(run: ComparedRun, columns: Sequence[str]) -> list[float]:
    """Average several columns at every step that has all of them."""
    means = []
    for row in run.rows:
        values = [float(row[column]) for column in columns if row.get(column) is not None]
        if len(values) == len(columns):
            means.append(math.fsum(values) / len(values))
    return means


def _line(
    name: str, label: str, own: Sequence[ComparedRun], accuracies: Mapping[tuple[str, int], Sequence[float]]
) -> Line:
    values = [accuracies[name, run.seed] for run in own]
    differences = [
        accuracies[name, run.seed][-1] - accuracies[BASELINE, run.seed][-1]
        for run in own
        if (BASELINE, run.seed) in accuracies
    ]
    training = [score for run in own if (score := last_tenth(run, "train_score")) is not None]
    return Line(
        curriculum=name,
        suite=label,
        seeds=tuple(run.seed for run in own),
        steps=mean_of([run.rows[-1]["step"] for run in own]),
        tokens=mean_of([run.rows[-1]["tokens"] for run in own]),
        start=mean_of([numbers[0] for numbers in values]),
        final=mean_of([numbers[-1] for numbers in values]),
        difference=mean_of(differences) if differences and name != BASELINE else None,
        best=mean_of([max(numbers) for numbers in values]),
        training=mean_of(training) if training else None,
    )


def last_tenth(run: ComparedRun, column: str) -> float | None:
    """Average a column over the last tenth of the steps that have it; None if none has."""
    values = [value for _, value in run.column(column)]
    tail = values[-max(1, len(values) // 10) :]
    return math.fsum(tail) / len(tail) if tail else None


# --------------------------------------------------------------------------- as text


def to_markdown(
    plan: ComparisonPlan,
    lines: Sequence[Line],
    start: Mapping[str, tuple[float, float, float]],
    averages: Sequence[Line] = (),
) -> str:
    """Write the table as a page; `start` is the untrained model's accuracy with its own interval, by suite."""
    settings = plan.evaluation
    parts = [f"Model {plan.model}, {plan.budget} per run.", ""]
    if plan.own_settings:
        own = "; ".join(f"{name}: {', '.join(settings)}" for name, settings in plan.own_settings.items())
        parts += [f"Settings of one curriculum alone: {own}.", ""]
    parts += _side_by_side(settings.suites, lines, averages)
    for suite, asked in zip(settings.suites, settings.plans.suites, strict=True):
        how = f"{plural(asked.samples, 'sample')} a problem, temperature {asked.temperature:g}"
        parts += [
            f"Held-out accuracy on `{suite}`: {how}; mean over seeds ± half of the 95% interval (Student's t).",
            "",
            "| curriculum | seeds | steps | tokens | at the end | against untrained | training score |",
            "|---|---|---|---|---|---|---|",
        ]
        for line in lines:
            if line.suite == suite:
                cells = [
                    line.curriculum,
                    str(len(line.seeds)),
                    f"{line.steps.mean:,.0f}",
                    f"{line.tokens.mean:,.0f}",
                    f"{100 * line.final.mean:.1f}%" if line.curriculum == BASELINE else share(line.final),
                    "–" if line.difference is None else share(line.difference, signed=True),
                    "–" if line.training is None else share(line.training),
                ]
                parts.append(f"| {' | '.join(cells)} |")
        if suite in start:
            mean, low, high = (f"{100 * value:.1f}%" for value in start[suite])
            parts += ["", f"The model before training: {mean}, 95% interval {low} to {high} {SHARED}"]
        parts.append("")
    return "\n".join(parts)


def _side_by_side(suites: Sequence[str], lines: Sequence[Line], averages: Sequence[Line]) -> list[str]:
    """Write the table as the paper does: a row for each curriculum; suites, their mean and its gain as columns."""
    if not averages:
        return []
    finals = {(line.curriculum, line.suite): line.final for line in lines}
    words = (
        "Avg: the mean over the suites, each with the same weight; Avg Δ: the same less the untrained model's, by seed."
    )
    parts = [
        f"Accuracy at the end in percent. {words}",
        "",
        f"| curriculum | {' | '.join(suites)} | Avg | Avg Δ |",
        "|---" * (len(suites) + 3) + "|",
    ]
    for line in averages:
        gain = "–" if line.difference is None else share(line.difference, signed=True)
        cells = [points(finals[line.curriculum, suite]) for suite in suites]
        parts.append(f"| {' | '.join([line.curriculum, *cells, points(line.final), gain])} |")
    return [*parts, ""]


def points(value: Mean) -> str:
    """Write a mean in points of a hundred without the sign of percent: `31.2 ± 4.0`."""
    return f"{100 * value.mean:.1f}" if not value.half else f"{100 * value.mean:.1f} ± {100 * value.half:.1f}"


def share(value: Mean, *, signed: bool = False) -> str:
    """Write a mean in percent: `31.2% ± 4.0`."""
    shown = f"{100 * value.mean:+.1f}" if signed else f"{100 * value.mean:.1f}%"
    return shown if value.half is None else f"{shown} ± {100 * value.half:.1f}"


def to_csv(lines: Sequence[Line]) -> str:
    """Write every number of the table, as shares of one."""
    names = ("steps", "tokens", "start", "final", "difference", "best", "training")
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(
        ["curriculum", "suite", "seeds", *(f"{name}_{part}" for name in names for part in ("mean", "half"))]
    )
    for line in lines:
        row: list[Any] = [line.curriculum, line.suite, len(line.seeds)]
        for name in names:
            value: Mean | None = getattr(line, name)
            row += (
                ["", ""] if value is None else [f"{value.mean:.6g}", "" if value.half is None else f"{value.half:.6g}"]
            )
        writer.writerow(row)
    return buffer.getvalue()


# --------------------------------------------------------------------------- as files


def read_start(directory: Path, plan: ComparisonPlan) -> dict[str, tuple[float, float, float]]:
    """Read the accuracy of the model before training, with its interval, by suite."""
    accuracies = {}
    for index, suite in enumerate(plan.evaluation.suites):
        path = directory / START / f"suite{index}.json"
        if path.is_file():
            kept = msgspec.json.decode(path.read_bytes())
            accuracies[suite] = (kept["accuracy"], kept["low"], kept["high"])
    return accuracies


def write_results(directory: Path, plan: ComparisonPlan) -> dict[str, Any]:
    """Write the table, the series and the figures into `directory`; return the JSON document.

    The files are `table.md`, `table.csv`, `results.json`, `series.csv`, `compare.png` and `figures/`.
    """
    runs = read_runs(directory, plan)
    lines, averages = lines_of(plan, runs), averages_of(plan, runs)
    start = read_start(directory, plan)
    document = {
        "model": plan.model,
        "budget": {"steps": plan.steps, "tokens": plan.tokens},
        "eval_every": plan.eval_every,
        "own_settings": plan.own_settings,
        "evaluation": msgspec.to_builtins(plan.evaluation),
        "runs": [
            {"curriculum": run.curriculum, "seed": run.seed, **{key: run.rows[-1][key] for key in ("step", "tokens")}}
            for run in runs
        ],
        "missing": [run.name for run in plan.runs if not is_done(directory, plan, run)],
        "start": {suite: {"mean": mean, "low": low, "high": high} for suite, (mean, low, high) in start.items()},
        "table": [line.to_json() for line in lines],
        "average": [line.to_json() for line in averages],
    }
    write_bytes(directory / "table.md", to_markdown(plan, lines, start, averages).encode())
    write_bytes(directory / "table.csv", to_csv([*lines, *averages]).encode())
    write_bytes(directory / "series.csv", series_csv(runs, named=True).encode())
    write_json(directory / "results.json", document)
    if runs:
        write_figures(directory, plan, runs)
    return document
