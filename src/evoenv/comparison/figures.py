"""The figures of a comparison as PNG. A curve is the mean over seeds, its band reaches from the lowest to the highest.

Values of single steps are noisy, so that they are shown as moving means over a twentieth of the run; held-out
accuracies are shown as they are.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from evoenv.comparison.plan import BASELINE, ComparisonPlan, config_of
from evoenv.comparison.series import ACCURACY, FUNNEL, ComparedRun
from evoenv.durable import write_bytes

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats: TypeAlias = NDArray[np.float64]
Axis: TypeAlias = Literal["step", "tokens"]
Points: TypeAlias = tuple[Floats, Floats]
"""Positions along the compute axis, and values."""

COLOURS = ("#4c72b0", "#dd8452", "#55a868", "#c44e52", "#8172b3", "#937860", "#da8bc3", "#8c8c8c", "#ccb974")
GRID_POINTS = 200
PANEL = (4.6, 3.4)
DPI = 150
LABELS = {"step": "training steps", "tokens": "tokens sampled and trained on"}


def write_figures(directory: Path, plan: ComparisonPlan, runs: Sequence[ComparedRun]) -> list[Path]:
    """All figures that the runs have something for; the first is the comparison's own."""
    axis: Axis = "step" if plan.steps else "tokens"
    other: Axis = "tokens" if plan.steps else "step"
    drawn: dict[str, Figure | None] = {
        "compare.png": training_and_held_out(plan, runs, axis),
        f"figures/compare_by_{other}.png": training_and_held_out(plan, runs, other),
        "figures/zero_variance.png": _simple(plan, runs, axis, {"groups without signal": "zero_variance"}, limit=True),
        "figures/pool.png": _simple(plan, runs, axis, {"active environments": "pool", "tag prototypes": "prototypes"}),
        "figures/generator.png": _simple(
            plan, runs, axis, {"generator reward": "generator_reward", "pass rate of candidates": "pass_rate"}
        ),
        "figures/levels.png": _simple(plan, runs, axis, {"mean top level": "level"}),
        "figures/tokens.png": _simple(
            plan, runs, "step", {"tokens sampled per step": "tokens_sampled", "trained on": "tokens_trained"}
        ),
        "figures/consistency.png": consistency(plan, runs, axis),
        "figures/funnel.png": funnel(plan, runs),
        "figures/funnel_by_step.png": funnel_by_step(plan, runs, axis),
    }
    written = []
    for name, figure in drawn.items():
        if figure is not None:
            buffer = io.BytesIO()
            figure.savefig(buffer, format="png", dpi=DPI)
            write_bytes(directory / name, buffer.getvalue())
            written.append(directory / name)
    return written


# --------------------------------------------------------------------------- the figures


def training_and_held_out(plan: ComparisonPlan, runs: Sequence[ComparedRun], axis: Axis) -> Figure:
    """Training score beside held-out accuracy: a curriculum may raise the one and not the other."""
    suites = plan.evaluation.suites
    figure, panels = _panels(1, 1 + len(suites))
    _titled(panels[0], "training score (on what each trains on)", axis, "mean score")
    for name, own in _by_curriculum(plan, runs):
        _curve(panels[0], name, [_points(run, "train_score", axis, smooth=True) for run in own], plan)
    for panel, suite in zip(panels[1:], suites, strict=True):
        _titled(panel, f"held-out accuracy: {_short(suite)}", axis, "accuracy")
        for name, own in _by_curriculum(plan, runs):
            points = [_points(run, ACCURACY + suite, axis) for run in own]
            if name == BASELINE:
                level = float(np.mean([values[0] for _, values in points])) if points else 0.0
                panel.axhline(level, color="#555555", linestyle="--", linewidth=1.2, label=name)
            else:
                _curve(panel, name, points, plan, marker=True)
    return _finished(figure, panels)


def consistency(plan: ComparisonPlan, runs: Sequence[ComparedRun], axis: Axis) -> Figure | None:
    """Of the environments that the oracle can read: how many ask for what they compute."""
    own = [run for run in runs if run.column("l5_consistent")]
    if not own:
        return None
    figure, panels = _panels(1, 2)
    titles = {"l5": "consistent among candidates at L5", "admitted": "consistent among admitted"}
    for panel, (group, title) in zip(panels, titles.items(), strict=True):
        _titled(panel, title, axis, "share of readable")
        for name, mine in _by_curriculum(plan, own):
            _curve(panel, name, [_consistent_share(run, group, axis) for run in mine], plan)
        panel.set_ylim(-0.02, 1.02)
    return _finished(figure, panels)


def funnel(plan: ComparisonPlan, runs: Sequence[ComparedRun]) -> Figure | None:
    """How far candidates come, in the first and in the last tenth of the run."""
    own = [run for run in runs if run.column("candidates")]
    if not own:
        return None
    named = _by_curriculum(plan, own)
    figure, panels = _panels(1, len(named))
    for panel, (name, mine) in zip(panels, named, strict=True):
        tests = _tests(plan, name)
        places = np.arange(len(tests))
        for offset, (label, part) in ((-0.2, ("first tenth", slice(0, 1))), (0.2, ("last tenth", slice(-1, None)))):
            shares = np.mean([_funnel_shares(run, part, tests) for run in mine], axis=0)
            panel.barh(places + offset, shares, height=0.36, label=label)
        panel.set_yticks(places, tests)
        panel.invert_yaxis()
        panel.set_xlim(0, 1)
        panel.set_title(name, fontsize=10)
        panel.set_xlabel("share of candidates")
    return _finished(figure, panels)


def funnel_by_step(plan: ComparisonPlan, runs: Sequence[ComparedRun], axis: Axis) -> Figure | None:
    own = [run for run in runs if run.column("candidates")]
    if not own:
        return None
    named = _by_curriculum(plan, own)
    figure, panels = _panels(1, len(named))
    for panel, (name, mine) in zip(panels, named, strict=True):
        _titled(panel, name, axis, "candidates per step")
        tests = _tests(plan, name)
        for index, column in enumerate(FUNNEL):
            if column in tests:
                points = [_points(run, column, axis, smooth=True) for run in mine]
                _draw(panel, column, points, COLOURS[index % len(COLOURS)])
    return _finished(figure, panels)


def _tests(plan: ComparisonPlan, curriculum: str) -> list[str]:
    """The columns of the funnel without a review that the curriculum's runs leave out: its bar would repeat L5's."""
    reviewed = any(config_of(run).review.enabled for run in plan.runs if run.curriculum == curriculum)
    return [column for column in FUNNEL if column != "reviewed" or reviewed]


def _simple(
    plan: ComparisonPlan, runs: Sequence[ComparedRun], axis: Axis, columns: dict[str, str], *, limit: bool = False
) -> Figure | None:
    """A panel per column, a curve per curriculum that has it; None where nobody has any."""
    shown = {title: column for title, column in columns.items() if any(run.column(column) for run in runs)}
    if not shown:
        return None
    figure, panels = _panels(1, len(shown))
    for panel, (title, column) in zip(panels, shown.items(), strict=True):
        _titled(panel, title, axis, "")
        for name, own in _by_curriculum(plan, [run for run in runs if run.column(column)]):
            _curve(panel, name, [_points(run, column, axis, smooth=True) for run in own], plan)
        if limit:
            panel.set_ylim(-0.02, 1.02)
    return _finished(figure, panels)


# --------------------------------------------------------------------------- numbers


def _points(run: ComparedRun, column: str, axis: Axis, *, smooth: bool = False) -> Points:
    found = run.column(column)
    values = np.array([value for _, value in found], dtype=np.float64)
    return np.array([row[axis] for row, _ in found], dtype=np.float64), moving_mean(values) if smooth else values


def moving_mean(values: Floats, window: int | None = None) -> Floats:
    """Each value with those around it, `window` wide (a twentieth by default); fewer at the ends."""
    half = (max(1, len(values) // 20) if window is None else window) // 2
    sums = np.concatenate(([0.0], np.cumsum(values)))
    index = np.arange(len(values))
    low, high = np.maximum(index - half, 0), np.minimum(index + half + 1, len(values))
    result: Floats = (sums[high] - sums[low]) / (high - low)
    return result


def _consistent_share(run: ComparedRun, group: str, axis: Axis) -> Points:
    """Consistent of readable, each summed over a moving window: single steps admit too few to make a share."""
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
    """Sums along the funnel over the first or last tenth of the steps, as shares of the candidates."""
    rows = [row for row in run.rows if row.get("candidates")]
    size = max(1, len(rows) // 10)
    chosen = rows[:size] if part.start == 0 else rows[-size:]
    counts = np.array([sum(row.get(column) or 0 for row in chosen) for column in tests], dtype=np.float64)
    shares: Floats = counts / max(1.0, counts[0])
    return shares


def combine(points: Sequence[Points]) -> tuple[Floats, Floats, Floats, Floats]:
    """Position, mean, lowest and highest over seeds, as far as all seeds reach.

    Where seeds were measured at the same positions (steps), at those; else (tokens) at points in between.
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


# --------------------------------------------------------------------------- drawing


def _by_curriculum(plan: ComparisonPlan, runs: Sequence[ComparedRun]) -> list[tuple[str, list[ComparedRun]]]:
    named = [(name, [run for run in runs if run.curriculum == name]) for name in plan.curricula]
    return [(name, own) for name, own in named if own]


def _panels(rows: int, columns: int) -> tuple[Figure, list[Axes]]:
    # the plain canvas: no window system, no global state
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(PANEL[0] * columns, PANEL[1] * rows + 0.5), layout="constrained")
    FigureCanvasAgg(figure)
    panels = [figure.add_subplot(rows, columns, index + 1) for index in range(rows * columns)]
    return figure, panels


def _titled(panel: Axes, title: str, axis: Axis, label: str) -> None:
    """Names and grid; tokens are counted in thousands and millions."""
    panel.set_title(title, fontsize=10)
    panel.set_xlabel(LABELS[axis])
    panel.set_ylabel(label)
    panel.grid(alpha=0.25)
    if axis == "tokens":
        from matplotlib.ticker import EngFormatter

        panel.xaxis.set_major_formatter(EngFormatter())


def _curve(panel: Axes, name: str, points: Sequence[Points], plan: ComparisonPlan, *, marker: bool = False) -> None:
    trained = [item for item in plan.curricula if item != BASELINE]
    colour = COLOURS[trained.index(name) % len(COLOURS)] if name in trained else "#555555"
    _draw(panel, name, points, colour, marker=marker)


def _draw(panel: Axes, name: str, points: Sequence[Points], colour: str, *, marker: bool = False) -> None:
    positions, mean, low, high = combine(points)
    if len(positions):
        on_few = "o" if len(positions) == 1 or (marker and len(positions) < 30) else None
        panel.plot(positions, mean, color=colour, label=name, linewidth=1.5, marker=on_few, markersize=3)
        panel.fill_between(positions, low, high, color=colour, alpha=0.15, linewidth=0)


def _finished(figure: Figure, panels: Sequence[Axes]) -> Figure:
    """One legend below all panels, of everything that any of them shows."""
    entries: dict[str, Artist] = {}
    for panel in panels:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
        panel.spines[["top", "right"]].set_visible(False)
    if entries:
        columns = min(len(entries), 2 * len(panels))
        figure.legend(
            list(entries.values()), list(entries), loc="outside lower center", ncols=columns, fontsize=8, frameon=False
        )
    return figure


def _short(suite: str) -> str:
    return suite if len(suite) <= 32 else f"…{suite[-30:]}"
