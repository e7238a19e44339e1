"""The figures that a ladder has beside those of every comparison: what is gained, and how much of what can be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from evoenv.comparison.figures import COLOURS, Points, combine
from evoenv.comparison.ladder_table import BASES, Reading, Rung, average_gain, reached_words
from evoenv.comparison.plan import BASELINE, UPPER_BOUND, ComparisonPlan
from evoenv.comparison.weighing import Measured
from evoenv.durable import write_bytes
from evoenv.report.charts import DASHES, Bar, Bars, Figure, Lines, Series

AXES = {"responses": "solver responses", "tokens": "tokens sampled and trained on"}


def gain_figure(
    plan: ComparisonPlan, start: Mapping[str, Measured], points: Mapping[tuple[str, int], Sequence[Reading]]
) -> Figure | None:
    """Draw the gain over the untrained model, the mean of all columns, over responses and over tokens."""
    trained = [name for name in plan.curricula if name != BASELINE]
    panels = []
    for axis, label in AXES.items():
        curves = []
        for index, name in enumerate(trained):
            own = [_points(readings, start, axis) for (curriculum, _), readings in points.items() if curriculum == name]
            if own:
                positions, mean, low, high = (values.tolist() for values in combine(own))
                look = COLOURS[index % len(COLOURS)], DASHES[index // 2 % len(DASHES)]
                curves.append(Series(name, mean, *look, low, high, x=positions))
        if curves:
            panels.append(Lines((), curves, "points", False, label, "gain, mean of all suites", from_zero=False))
    return Figure("figures/gain", "", "", "Gain over the untrained model", panels, columns=2) if panels else None


def _points(readings: Sequence[Reading], start: Mapping[str, Measured], axis: str) -> Points:
    positions = np.array([getattr(item, axis) for item in readings], dtype=np.float64)
    return positions, np.array([100 * average_gain(item, start) for item in readings], dtype=np.float64)


def reached_figure(rungs: Sequence[Rung]) -> Figure | None:
    """Draw the share of the upper bound's gain that each curriculum reaches, at equal responses and tokens."""
    bars = [
        Bar(
            f"{rung.curriculum}, equal {rung.basis}",
            rung.reached[0],
            "blue" if rung.basis == "responses" else "orange",
            reached_words(rung.reached),
        )
        for rung in sorted(rungs, key=lambda rung: BASES.index(rung.basis))
        if rung.reached is not None and rung.curriculum != UPPER_BOUND
    ]
    return Figure("figures/reached", "", "", "Share of the upper bound's gain", [Bars(bars)]) if bars else None


def write_ladder_figures(
    directory: Path,
    plan: ComparisonPlan,
    start: Mapping[str, Measured],
    points: Mapping[tuple[str, int], Sequence[Reading]],
    rungs: Sequence[Rung],
) -> list[Path]:
    """Draw what there is; return the files."""
    from evoenv.report.png import paint  # matplotlib is heavy, and an extra: a comparison is planned without it

    paths = []
    for figure in (gain_figure(plan, start, points), reached_figure(rungs)):
        if figure is not None:
            paths.append(directory / f"{figure.key}.png")
            write_bytes(paths[-1], paint(figure))
    return paths
