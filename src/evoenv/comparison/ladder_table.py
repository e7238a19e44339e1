"""What a ladder comes to: one table at equal solver responses, one at equal tokens; the same as CSV and JSON."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from evoenv.comparison.ladder import SAMPLES, Verdict, evaluated_steps, read_step
from evoenv.comparison.plan import BASELINE, UPPER_BOUND, ComparisonPlan, RunPlan, is_done
from evoenv.comparison.series import ComparedRun
from evoenv.comparison.table import AVERAGE, Mean, mean_of, share
from evoenv.comparison.weighing import Measured, columns_by_suite, weigh

Basis: TypeAlias = Literal["responses", "tokens"]
BASES: tuple[Basis, ...] = ("responses", "tokens")
PASS_8 = f"pass@{SAMPLES}"
ERRORS = "The share has a standard error behind ±, the gains half of Student's 95% interval; both in points."


@dataclass(frozen=True, slots=True)
class Reading:
    """One run at the place where it is compared."""

    curriculum: str
    seed: int
    step: int
    responses: int
    tokens: int
    tokens_before: int
    """Those of the step before."""
    columns: dict[str, Measured]


@dataclass(frozen=True, slots=True)
class Rung:
    """One curriculum over its seeds, at equal responses or at equal tokens."""

    basis: Basis
    curriculum: str
    steps: Mean
    responses: Mean
    tokens: Mean
    accuracy: dict[str, Mean]
    """pass@1 by column, and the mean of all under `Avg`."""
    gain: dict[str, Mean]
    """The same less the untrained model's."""
    pass_at: dict[str, Mean]
    """pass@8."""
    pass_gain: dict[str, Mean]
    reached: tuple[float, float | None] | None
    """Share of the upper bound's gain with its standard error; None if the upper bound has none beyond noise. Its own
    is 1 and has no error."""
    per_thousand: Mean | None
    """Gain (Avg) for a thousand solver responses; None without any."""

    def to_json(self) -> dict[str, Any]:
        return {
            "basis": self.basis,
            "curriculum": self.curriculum,
            **{name: getattr(self, name).to_json() for name in ("steps", "responses", "tokens")},
            **{
                name: {column: value.to_json() for column, value in getattr(self, name).items()}
                for name in ("accuracy", "gain", "pass_at", "pass_gain")
            },
            "share_of_upper_bound": None
            if self.reached is None
            else {"share": self.reached[0], "standard_error": self.reached[1]},
            "gain_per_thousand_responses": None if self.per_thousand is None else self.per_thousand.to_json(),
        }


# --------------------------------------------------------------------------- reading


def read_points(
    directory: Path, plan: ComparisonPlan, runs: Sequence[ComparedRun]
) -> dict[tuple[str, int], list[Reading]]:
    """Read every evaluation of every finished run, in the order of its steps, by curriculum and seed."""
    planned = {(run.curriculum, run.seed): run for run in plan.runs}
    points: dict[tuple[str, int], list[Reading]] = {}
    for series in runs:
        key = (series.curriculum, series.seed)
        if is_done(directory, plan, planned[key]):
            points[key] = _readings(directory, plan, planned[key], series)
    return points


def _readings(directory: Path, plan: ComparisonPlan, run: RunPlan, series: ComparedRun) -> list[Reading]:
    rows = {int(row["step"]): row for row in series.rows}
    readings = []
    for step in evaluated_steps(directory, run):
        columns = read_step(directory, plan, run, step)
        if columns is not None and step in rows:
            responses = sum(int(row.get("responses") or 0) for number, row in rows.items() if number <= step)
            tokens, before = (int(rows[at]["tokens"]) if at in rows else 0 for at in (step, step - 1))
            readings.append(Reading(run.curriculum, run.seed, step, responses, tokens, before, columns))
    return readings


def compared_at(plan: ComparisonPlan, basis: Basis, readings: Sequence[Reading]) -> Reading | None:
    """Choose where a run is compared: at the plan's steps, or at the very step that brought it to the common tokens."""
    if basis == "tokens" and not plan.equal_tokens:
        return None
    if readings and readings[0].curriculum == BASELINE:
        return readings[0]
    if basis == "responses":
        return next((reading for reading in readings if reading.step == plan.steps), None)
    return next((reading for reading in readings if reading.tokens_before < plan.equal_tokens <= reading.tokens), None)


def not_compared(plan: ComparisonPlan, points: Mapping[tuple[str, int], Sequence[Reading]]) -> list[str]:
    """Name the finished runs that a table lacks: they were not evaluated where it compares."""
    bases = [basis for basis in BASES if basis == "responses" or plan.equal_tokens]
    return [
        f"{curriculum}-seed{seed}"
        for (curriculum, seed), own in points.items()
        if any(compared_at(plan, basis, own) is None for basis in bases)
    ]


def rungs_of(
    plan: ComparisonPlan,
    basis: Basis,
    start: Mapping[str, Measured],
    points: Mapping[tuple[str, int], Sequence[Reading]],
) -> list[Rung]:
    """Make one table: a rung for every curriculum that has finished runs, in the order of the plan."""
    chosen = [reading for own in points.values() if (reading := compared_at(plan, basis, own)) is not None]
    top = [reading for reading in chosen if reading.curriculum == UPPER_BOUND]
    # of a gain that may be noise there is no share
    moved = bool(top and start) and weigh(plan, [start], [reading.columns for reading in top])[0].moved
    upper = [average_gain(reading, start) for reading in top] if moved else []
    rungs = []
    for name in plan.curricula:
        own = [reading for reading in chosen if reading.curriculum == name]
        if own and start:
            rungs.append(_rung(plan, basis, start, own, upper))
    return rungs


def _rung(
    plan: ComparisonPlan, basis: Basis, start: Mapping[str, Measured], own: Sequence[Reading], upper: Sequence[float]
) -> Rung:
    columns = [*plan.evaluation.suites, AVERAGE]
    name = own[0].curriculum
    before = {column: (_value(start, column, "accuracy"), _value(start, column, "pass_at")) for column in columns}
    after = {
        column: [(_value(item.columns, column, "accuracy"), _value(item.columns, column, "pass_at")) for item in own]
        for column in columns
    }
    gains = [average_gain(reading, start) for reading in own]
    return Rung(
        basis=basis,
        curriculum=name,
        steps=mean_of([item.step for item in own]),
        responses=mean_of([item.responses for item in own]),
        tokens=mean_of([item.tokens for item in own]),
        accuracy={column: mean_of([one for one, _ in values]) for column, values in after.items()},
        gain={column: mean_of([one - before[column][0] for one, _ in values]) for column, values in after.items()},
        pass_at={column: mean_of([eight for _, eight in values]) for column, values in after.items()},
        pass_gain={
            column: mean_of([eight - before[column][1] for _, eight in values]) for column, values in after.items()
        },
        reached=_reached(name, gains, upper, luck_of(plan, start)),
        per_thousand=mean_of([1000 * gain / item.responses for gain, item in zip(gains, own, strict=True)])
        if all(item.responses for item in own)
        else None,
    )


def _value(columns: Mapping[str, Measured], column: str, field: Literal["accuracy", "pass_at"]) -> float:
    """Return one column's figure, or the mean over all columns for `Avg`."""
    if column != AVERAGE:
        return float(getattr(columns[column], field))
    return math.fsum(getattr(item, field) for item in columns.values()) / len(columns)


def average_gain(reading: Reading, start: Mapping[str, Measured]) -> float:
    """Average accuracy over all columns and subtract that of the untrained model."""
    return _value(reading.columns, AVERAGE, "accuracy") - _value(start, AVERAGE, "accuracy")


def luck_of(plan: ComparisonPlan, start: Mapping[str, Measured]) -> float:
    """Compute the variance of the untrained model's average accuracy: every gain has subtracted the same samples.

    A suite is asked with the same random numbers at every temperature, so that its columns may be lucky together.
    """
    suites = [math.fsum(math.sqrt(start[name].luck) for name in names) for names in columns_by_suite(plan).values()]
    return math.fsum(luck**2 for luck in suites) / len(start) ** 2


def _reached(
    name: str, gains: Sequence[float], upper: Sequence[float], luck: float
) -> tuple[float, float | None] | None:
    if not upper or name == BASELINE:
        return None
    return (1.0, None) if name == UPPER_BOUND else ratio(gains, upper, luck)


def ratio(gains: Sequence[float], upper: Sequence[float], luck: float = 0.0) -> tuple[float, float | None]:
    """Divide a mean gain by the upper bound's; the error follows from both means' errors, if each has two seeds.

    `luck` is the variance of what both have subtracted, the untrained model's accuracy s: (a − s)/(u − s) changes with
    s by (a − u)/(u − s)².
    """
    top, bottom = math.fsum(gains) / len(gains), math.fsum(upper) / len(upper)
    if not bottom:
        return math.nan, None
    reached = top / bottom
    if len(gains) < 2 or len(upper) < 2:
        return reached, None
    own, other = _squared_error(gains), _squared_error(upper)
    return reached, math.sqrt(own + reached**2 * other + (reached - 1) ** 2 * luck) / abs(bottom)


def _squared_error(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1) / len(values)


# --------------------------------------------------------------------------- as text


def to_markdown(
    plan: ComparisonPlan, verdict: Verdict | None, start: Mapping[str, Measured], rungs: Sequence[Rung]
) -> str:
    """Write the page: whether there is room, then both tables."""
    parts = [f"# Headroom ladder: {plan.model}", "", _settings(plan), ""]
    parts += ["The upper bound is not finished yet." if verdict is None else verdict.words, ""]
    if start:
        common = (
            "Intervals are over seeds, on these problems. What all gains subtract, the untrained model's accuracy, is "
            "measured once: other samples of it would change every gain alike, standard error "
            f"{100 * math.sqrt(luck_of(plan, start)):.2f} points (Avg) at most. That is in the errors of shares and in "
            "no interval of a gain."
        )
        parts += [common, ""]
    heads = {
        "responses": f"## At equal solver responses ({plan.steps:,} steps)",
        "tokens": f"## At equal tokens ({plan.equal_tokens:,})",
    }
    for basis in BASES:
        own = [rung for rung in rungs if rung.basis == basis]
        if own:
            parts += [heads[basis], "", *summary(own), "", ERRORS, ""]
            for title, values in (
                ("pass@1", {rung.curriculum: rung.accuracy for rung in own}),
                (PASS_8, {rung.curriculum: rung.pass_at for rung in own}),
            ):
                parts += [f"{title} in percent, mean over seeds ± half of Student's 95% interval:", ""]
                parts += [*_by_column(plan, values), ""]
    return "\n".join(parts)


def _settings(plan: ComparisonPlan) -> str:
    asked = plan.evaluation.plans.suites[0]
    levels = ", ".join(map(str, asked.difficulties))
    own = "; ".join(f"{name}: {', '.join(settings)}" for name, settings in plan.own_settings.items())
    return (
        f"Levels {levels}, {asked.instances} instances of each environment and level, {asked.samples} samples a "
        f"problem. T is the temperature. Settings of one curriculum alone: {own or 'none'}."
    )


def summary(rungs: Iterable[Rung]) -> list[str]:
    """Write a row for every curriculum: what it spent, what it gained, and what share of the upper bound's gain."""
    heads = (
        "curriculum", "seeds", "steps", "responses", "tokens", "gain, pass@1 (Avg)", f"gain, {PASS_8} (Avg)",
        "share of the upper bound's gain", "gain per 1,000 responses",
    )  # fmt: skip
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for rung in rungs:
        bare = rung.curriculum == BASELINE
        cells = [
            rung.curriculum,
            str(rung.steps.n),
            *(f"{value.mean:,.0f}" for value in (rung.steps, rung.responses, rung.tokens)),
            "–" if bare else share(rung.gain[AVERAGE], signed=True),
            "–" if bare else share(rung.pass_gain[AVERAGE], signed=True),
            "–" if rung.reached is None else reached_words(rung.reached),
            "–" if rung.per_thousand is None else f"{100 * rung.per_thousand.mean:+.2f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def reached_words(reached: tuple[float, float | None]) -> str:
    """Write a share and its standard error: `43% ± 12`."""
    value, error = reached
    return f"{100 * value:.0f}%" + ("" if error is None else f" ± {100 * error:.0f}")


def _by_column(plan: ComparisonPlan, values: dict[str, dict[str, Mean]]) -> list[str]:
    """Write a row for every curriculum, with a column for every suite and temperature."""
    columns = [*plan.evaluation.suites, AVERAGE]
    lines = [f"| curriculum | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    for name, own in values.items():
        cells = [f"{100 * own[column].mean:.1f}%" if name == BASELINE else share(own[column]) for column in columns]
        lines.append(f"| {' | '.join([name, *cells])} |")
    return lines


def to_csv(rungs: Iterable[Rung]) -> str:
    """Write one row per table, curriculum and column."""
    rows: list[list[Any]] = [
        ["basis", "curriculum", "column", "seeds", "steps", "responses", "tokens"]
        + [f"{name}{end}" for name in ("pass@1", "gain", PASS_8, f"{PASS_8} gain") for end in ("", " ±")]
        + ["share of upper bound", "share ±", "gain per 1000 responses"]
    ]
    for rung in rungs:
        for column in rung.accuracy:
            row: list[Any] = [rung.basis, rung.curriculum, column, rung.steps.n]
            row += [f"{value.mean:.6g}" for value in (rung.steps, rung.responses, rung.tokens)]
            for values in (rung.accuracy, rung.gain, rung.pass_at, rung.pass_gain):
                half = values[column].half
                row += [f"{values[column].mean:.6g}", "" if half is None else f"{half:.6g}"]
            last = column == AVERAGE
            reached = rung.reached if last else None
            row += (
                ["", ""]
                if reached is None
                else [f"{reached[0]:.6g}", "" if reached[1] is None else f"{reached[1]:.6g}"]
            )
            row += [f"{rung.per_thousand.mean:.6g}" if last and rung.per_thousand is not None else ""]
            rows.append(row)
    return _csv(rows)


def evaluations_csv(points: Mapping[tuple[str, int], Sequence[Reading]]) -> str:
    """Write one row per run, evaluated step, column and level (`all` for all of them together)."""
    rows: list[list[Any]] = [
        ["curriculum", "seed", "step", "responses", "tokens", "column", "level", "problems", "pass@1", PASS_8]
    ]
    for readings in points.values():
        for item in readings:
            head = [item.curriculum, item.seed, item.step, item.responses, item.tokens]
            for column, kept in item.columns.items():
                rows.append([*head, column, "all", len(kept.right), f"{kept.accuracy:.6g}", f"{kept.pass_at:.6g}"])
                for level, (accuracy, pass_at, problems) in kept.levels.items():
                    rows.append([*head, column, level, problems, f"{accuracy:.6g}", f"{pass_at:.6g}"])
    return _csv(rows)


def _csv(rows: Iterable[Sequence[Any]]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(rows)
    return buffer.getvalue()
