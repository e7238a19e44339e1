"""The figures of a comparison, as charts. A curve is the mean over seeds, its band goes from the lowest to the highest.

Values of single steps are noisy, so that they are shown as moving means over a twentieth of the run; held-out
accuracies are shown as they are. Pure but for `write_figures`, which leaves them as PNG.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from evoenv.comparison.plan import BASELINE, ComparisonPlan, config_of
from evoenv.comparison.series import ACCURACY, FUNNEL, ComparedRun
from evoenv.durable import write_bytes
from evoenv.report.charts import DASHES, Figure, Groups, Lines, Panel, Series

Floats: TypeAlias = NDArray[np.float64]
Axis: TypeAlias = Literal["step", "tokens"]
Points: TypeAlias = tuple[Floats, Floats]
"""Positions along the compute axis, and values."""

COLOURS = ("blue", "orange", "green", "pink", "amber", "sky", "novelty", "l4", "grey")
SIDE_BY_SIDE = 4
GRID_POINTS = 200
LABELS = {"step": "training steps", "tokens": "tokens sampled and trained on"}


def write_figures(directory: Path, plan: ComparisonPlan, runs: Sequence[ComparedRun]) -> list[Path]:
    """Draw all figures that the runs have something for; the first is the comparison's own."""
    from evoenv.report.png import paint  # matplotlib is heavy, and an extra: a comparison is planned without it

    written = []
    for figure in figures_of(plan, runs):
        path = directory / f"{figure.key}.png"
        write_bytes(path, paint(figure))
        written.append(path)
    return written


def figures_of(plan: ComparisonPlan, runs: Sequence[ComparedRun]) -> list[Figure]:
    """Make all figures that the runs have something for; a figure's key is its path."""
    axis: Axis = "step" if plan.steps else "tokens"
    other: Axis = "tokens" if plan.steps else "step"
    figures = (
        training_and_held_out("compare", plan, runs, axis),
        training_and_held_out(f"figures/compare_by_{other}", plan, runs, other),
        _simple("figures/zero_variance", plan, runs, axis, {"groups without signal": "zero_variance"}, share=True),
        _simple(
            "figures/pool", plan, runs, axis,
            {"active environments": "pool", "tag prototypes": "prototypes", "weight of novelty γ": "gamma"},
        ),
        _simple(
            "figures/generator", plan, runs, axis,
            {"generator reward": "generator_reward", "pass rate of candidates": "pass_rate"},
        ),
        _simple("figures/levels", plan, runs, axis, {"mean top level": "level"}),
        _simple(
            "figures/tokens", plan, runs, "step",
            {"tokens sampled per step": "tokens_sampled", "trained on": "tokens_trained"},
        ),
        consistency(plan, runs, axis),
        funnel(plan, runs),
        funnel_by_step(plan, runs, axis),
    )  # fmt: skip
    return [figure for figure in figures if figure is not None]


# --------------------------------------------------------------------------- the figures


def training_and_held_out(key: str, plan: ComparisonPlan, runs: Sequence[ComparedRun], axis: Axis) -> Figure:
    """Draw training score beside held-out accuracy: a curriculum may raise the one and not the other."""
    named = _by_curriculum(plan, runs)
    trained = {name: [_points(run, "train_score", axis, smooth=True) for run in own] for name, own in named}
    curves = [_curve(name, points, plan) for name, points in trained.items()]
    panels: list[Panel] = [_lines("training score (on what each trains on)", "mean score", axis, curves)]
    for suite in plan.evaluation.suites:
        measured = {name: [_points(run, ACCURACY + suite, axis) for run in own] for name, own in named}
        curves = [_curve(name, points, plan) for name, points in measured.items() if name != BASELINE]
        if BASELINE in measured:
            curves.append(_level(measured[BASELINE], curves))
        panels.append(_lines(f"held-out accuracy: {_short(suite)}", "accuracy", axis, curves))
    return _figure(key, panels, "Training score and held-out accuracy")


def consistency(plan: ComparisonPlan, runs: Sequence[ComparedRun], axis: Axis) -> Figure | None:
    """Draw how many of the environments that the oracle can read ask for what they compute."""
    own = [run for run in runs if run.column("l5_consistent")]
    if not own:
        return None
    titles = {"l5": "consistent among candidates at L5", "admitted": "consistent among admitted"}
    panels: list[Panel] = []
    for group, title in titles.items():
        curves = [
            _curve(name, [_consistent_share(run, group, axis) for run in mine], plan)
            for name, mine in _by_curriculum(plan, own)
        ]
        panels.append(_lines(title, "share of readable", axis, curves, share=True))
    return _figure("figures/consistency", panels, "Consistency by the oracle")


def funnel(plan: ComparisonPlan, runs: Sequence[ComparedRun]) -> Figure | None:
    """Draw how far candidates come, in the first and in the last tenth of the run."""
    own = [run for run in runs if run.column("candidates")]
    if not own:
        return None
    panels: list[Panel] = []
    for name, mine in _by_curriculum(plan, own):
        tests = _tests(plan, name)
        parts = (("first tenth", "blue", slice(0, 1)), ("last tenth", "orange", slice(-1, None)))
        bars = [
            Series(label, np.mean([_funnel_shares(run, part, tests) for run in mine], axis=0).tolist(), colour)
            for label, colour, part in parts
        ]
        panels.append(Groups(tests, bars, "share of candidates", name))
    return _figure("figures/funnel", panels, "How far candidates come")


def funnel_by_step(plan: ComparisonPlan, runs: Sequence[ComparedRun], axis: Axis) -> Figure | None:
    """Draw how many candidates of a step pass which test."""
    own = [run for run in runs if run.column("candidates")]
    if not own:
        return None
    panels: list[Panel] = []
    for name, mine in _by_curriculum(plan, own):
        tests = _tests(plan, name)
        curves = [
            _series(column, [_points(run, column, axis, smooth=True) for run in mine], *_look(index))
            for index, column in enumerate(FUNNEL)
            if column in tests
        ]
        panels.append(_lines(name, "candidates per step", axis, curves))
    return _figure("figures/funnel_by_step", panels, "How far candidates come, by step")


def _tests(plan: ComparisonPlan, curriculum: str) -> list[str]:
    """List the funnel's columns, without the review if the curriculum's runs have none: its bar would repeat L5's."""
    reviewed = any(config_of(run).review.enabled for run in plan.runs if run.curriculum == curriculum)
    return [column for column in FUNNEL if column != "reviewed" or reviewed]


def _simple(
    key: str,
    plan: ComparisonPlan,
    runs: Sequence[ComparedRun],
    axis: Axis,
    columns: dict[str, str],
    *,
    share: bool = False,
) -> Figure | None:
    """Draw a panel per column, with a curve per curriculum that has it; None if none has any."""
    panels: list[Panel] = []
    for title, column in columns.items():
        named = _by_curriculum(plan, [run for run in runs if run.column(column)])
        curves = [_curve(name, [_points(run, column, axis, smooth=True) for run in own], plan) for name, own in named]
        if curves:
            panels.append(_lines(title, "", axis, curves, share=share))
    return _figure(key, panels, ", ".join(columns)) if panels else None


# --------------------------------------------------------------------------- numbers


def _points(run: ComparedRun, column: str, axis: Axis, *, smooth: bool = False) -> Points:
    rows = run.column(column)
    values = np.array([value for _, value in rows], dtype=np.float64)
    return np.array([row[axis] for row, _ in rows], dtype=np.float64), moving_mean(values) if smooth else values


def moving_mean(values: Floats, window: int | None = None) -> Floats:
    """Average each value with those around it, over `window` (a twentieth by default); over fewer at the ends."""
    half = (max(1, len(values) // 20) if window is None else window) // 2
    sums = np.concatenate(([0.0], np.cumsum(values)))
    index = np.arange(len(values))
    low, high = np.maximum(index - half, 0), np.minimum(index + half + 1, len(values))
    result: Floats = (sums[high] - sums[low]) / (high - low)
    return result


def _consistent_share(run: ComparedRun, group: str, axis: Axis) -> Points:
    """Compute the consistent share of the readable over a moving window: single steps admit too few."""
    rows = [row for row in run.rows if row.get(f"{group}_consistent") is not None]
    good = np.array([row[f"{group}_consistent"] for row in rows], dtype=np.float64)
    bad = np.array([row[f"{group}_inconsistent"] for row in rows], dtype=np.float64)
    window = max(3, len(rows) // 10)
    good, bad = moving_mean(good, window), moving_mean(bad, window)
    some = good + bad > 0
    positions = np.array([row[axis] for row in rows], dtype=np.float64)
    shares: Floats = good[some] / (good[some] + bad[some])
    return positions[some], shares


def _funnel_shares(run: ComparedRun, part: slice, tests: Sequence[str]) -> Floats:
    """Sum along the funnel over the first or last tenth of the steps, as shares of the candidates."""
    rows = [row for row in run.rows if row.get("candidates")]
    size = max(1, len(rows) // 10)
    chosen = rows[:size] if part.start == 0 else rows[-size:]
    counts = np.array([sum(row.get(column) or 0 for row in chosen) for column in tests], dtype=np.float64)
    shares: Floats = counts / max(1.0, counts[0])
    return shares


def combine(points: Sequence[Points]) -> tuple[Floats, Floats, Floats, Floats]:
    """Return position, mean, lowest and highest over seeds, as far as all seeds reach.

    If seeds were measured at the same positions (steps), at those; else (tokens) at points in between.
    """
    points = [item for item in points if len(item[0])]
    if not points:
        empty = np.zeros(0)
        return empty, empty, empty, empty
    first = points[0][0]
    if all(len(item[0]) == len(first) and np.array_equal(item[0], first) for item in points):
        positions = first
    else:
        low, high = max(item[0][0] for item in points), min(item[0][-1] for item in points)
        positions = np.linspace(low, high, GRID_POINTS) if high > low else np.array([high])
    values = np.stack([np.interp(positions, *item) for item in points])
    return positions, values.mean(axis=0), values.min(axis=0), values.max(axis=0)


# --------------------------------------------------------------------------- charts


def _by_curriculum(plan: ComparisonPlan, runs: Sequence[ComparedRun]) -> list[tuple[str, list[ComparedRun]]]:
    named = [(name, [run for run in runs if run.curriculum == name]) for name in plan.curricula]
    return [(name, own) for name, own in named if own]


def _figure(key: str, panels: Sequence[Panel], words: str) -> Figure:
    return Figure(key, "", "", words, panels, columns=SIDE_BY_SIDE)


def _lines(title: str, label: str, axis: Axis, curves: Iterable[Series], *, share: bool = False) -> Lines:
    drawn = [series for series in curves if series.values]
    return Lines((), drawn, label, share, LABELS[axis], title, from_zero=False)


def _look(index: int) -> tuple[str, str]:
    """Choose a colour and a dash: lines are not told apart by colour alone."""
    return COLOURS[index % len(COLOURS)], DASHES[(index // 2 + index // len(COLOURS)) % len(DASHES)]


def _curve(name: str, points: Sequence[Points], plan: ComparisonPlan) -> Series:
    """Draw the curve of a curriculum; it looks the same in every figure."""
    trained = [item for item in plan.curricula if item != BASELINE]
    return _series(name, points, *(_look(trained.index(name)) if name in trained else ("grey", "")))


def _series(name: str, points: Sequence[Points], colour: str, dash: str = "") -> Series:
    positions, mean, low, high = (values.tolist() for values in combine(points))
    return Series(name, mean, colour, dash, low, high, x=positions)


def _level(points: Sequence[Points], others: Sequence[Series]) -> Series:
    """Draw the untrained model as one level over all that the others cover."""
    level = float(np.mean([values[0] for _, values in points]))
    covered = sorted({x for series in others for x in series.x}) or [0.0]
    return Series(BASELINE, [level] * len(covered), "grey", "4 4", x=covered)


def _short(suite: str) -> str:
    return suite if len(suite) <= 32 else f"…{suite[-30:]}"
