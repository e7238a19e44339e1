"""Charts as plain data: what is drawn, in which colour of the palette, with which words. Two modules draw them.

A figure has one panel or several; a panel's class is its kind. `svg` draws a figure for the page, `png` for papers, and
`csv_text` writes the numbers behind it.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil, floor, log10
from typing import TypeAlias

Cell: TypeAlias = str | int | float | None
MOST_COLUMNS = 100
"""More columns than this are drawn as windows of steps."""

DASHES = ("", "6 3", "2 3", "8 3 2 3")
"""SVG dash patterns: lines must not be told apart by colour alone."""
PALETTE: dict[str, tuple[str, str]] = {
    # name: (on a light ground, on a dark ground); safe for the common colour-vision deficiencies (after Okabe and Ito)
    "blue": ("#0072b2", "#58b4ea"),
    "orange": ("#c45100", "#ff9a56"),
    "green": ("#00805e", "#3fcfa4"),
    "pink": ("#b0588b", "#eda3cb"),
    "sky": ("#3a93c9", "#a3d6f5"),
    "amber": ("#a87400", "#f2be3c"),
    "grey": ("#6b7280", "#9aa3b2"),
    # how far a candidate got: earlier refusals are lighter; what came after validation has another hue
    "l1": ("#e3dccf", "#57503f"),
    "l2": ("#eccb8f", "#80642f"),
    "l3": ("#e0a94e", "#ab7d2c"),
    "l4": ("#c98322", "#d29a3d"),
    "l5": ("#9c5c0c", "#f0bd6a"),
    "review": ("#d5b8dd", "#5d4370"),
    "calibration": ("#a87cb8", "#8f68a8"),
    "novelty": ("#774a8c", "#c79edd"),
    "admitted": ("#0072b2", "#58b4ea"),
}


@dataclass(frozen=True, slots=True)
class Series:
    """Values along x; None leaves a gap. `low` and `high` are a band around a line."""

    name: str
    values: Sequence[float | None]
    colour: str
    dash: str = ""
    """An SVG dash pattern, as DASHES has them."""
    low: Sequence[float | None] = ()
    high: Sequence[float | None] = ()
    dots: bool = False
    """A value is measured only if its `low` is known: dots with intervals there, and a plain line between them."""
    x: Sequence[float] = ()
    """Positions of its own along x, if they are not the panel's."""


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines along x, each with a band if its series has one."""

    x: Sequence[float]
    """Positions of all series that have none of their own."""
    series: Sequence[Series]
    label: str
    share: bool = False
    """The values are shares: the axis runs from 0 to 1 and is written in percent."""
    x_label: str = "step"
    title: str = ""
    from_zero: bool = True
    """Whether the axis of values reaches down to 0 whatever they are."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Stacked columns, the first series at the bottom; negative values hang below the axis."""

    x: Sequence[str]
    series: Sequence[Series]
    label: str
    x_label: str = "step"
    marker: tuple[float, str] | None = None
    """A vertical line at a position along x (0: the first column's middle), with words."""
    tips: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Bar:
    """One horizontal bar."""

    label: str
    value: float
    colour: str
    words: str
    """Written at the bar's end."""
    tip: str = ""


@dataclass(frozen=True, slots=True)
class Bars:
    """Horizontal bars, one below the other."""

    bars: Sequence[Bar]


@dataclass(frozen=True, slots=True)
class Groups:
    """Horizontal bars in groups: in each row one bar for every series; the values are shares from 0 to 1."""

    rows: Sequence[str]
    series: Sequence[Series]
    label: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class Heat:
    """Shares from 0 to 1 by row and column; None if a column has nothing to count."""

    rows: Sequence[str]
    columns: Sequence[str]
    values: Sequence[Sequence[float | None]]
    tips: Sequence[Sequence[str]]
    x_label: str = "step"
    gap_after: int = 0
    """How many columns stand apart, at the left."""


@dataclass(frozen=True, slots=True)
class Span:
    """A life: from a step to another, or to the end of the chart if it goes on."""

    label: str
    start: int
    end: int
    colour: str
    over: bool
    tip: str
    target: str
    """The entry of the list that this is."""


@dataclass(frozen=True, slots=True)
class Spans:
    """Lives along steps, one below the other."""

    spans: Sequence[Span]
    last: int


@dataclass(frozen=True, slots=True)
class Node:
    """One environment of a forest."""

    key: str
    label: str
    x: int
    y: float
    colour: str
    tip: str
    target: str


@dataclass(frozen=True, slots=True)
class Tree:
    """A forest along steps; `links` and `faint` join (parent, child) by their positions in `nodes`."""

    nodes: Sequence[Node]
    links: Sequence[tuple[int, int]]
    faint: Sequence[tuple[int, int]]
    last: int
    rows: int


Panel: TypeAlias = Lines | Columns | Bars | Groups | Heat | Spans | Tree


@dataclass(frozen=True, slots=True)
class Table:
    """The numbers behind a figure."""

    columns: tuple[str, ...]
    rows: list[tuple[Cell, ...]]


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart with its words: one panel or several, and the table behind them."""

    key: str
    """Also the name of its PNG and CSV."""
    title: str
    caption: str
    alt: str
    """What the picture shows, for those who do not see it."""
    panels: Sequence[Panel] = ()
    """Empty if the run has nothing to draw; `caption` says why."""
    table: Table = field(default_factory=lambda: Table((), []))
    columns: int = 1
    """How many panels stand side by side in a picture, then under one legend for all; 1: one below the other, each with
    its own. A page always has them one below the other."""


def positions(panel: Lines, series: Series) -> Sequence[float]:
    """Return where along x the values of a series stand."""
    return series.x or panel.x


def is_measured(series: Series, index: int) -> bool:
    """Say whether the value is a measurement, not a point on the line between two."""
    return not series.dots or not series.low or series.low[index] is not None


def nice_ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round values from at or below `low` to at or above `high`."""
    if high - low < 1e-9:  # nothing to tell apart
        high = low + 1.0
    raw = (high - low) / count
    magnitude = 10.0 ** floor(log10(raw))
    step = next(factor * magnitude for factor in (1, 2, 2.5, 5, 10) if factor * magnitude >= raw * 0.999)
    first, last = floor(low / step + 1e-9), ceil(high / step - 1e-9)
    return [round(index * step, 10) for index in range(first, last + 1)]


def tick_words(value: float, share: bool = False) -> str:
    """Write a value at its tick."""
    if share:
        return f"{value:.0%}"
    if abs(value) >= 10_000:
        return f"{value / 1000:g}k"
    return f"{value:g}".replace("-", "−")


def label_every(count: int, room: int) -> int:
    """Label every n-th of `count` marks so that about `room` labels appear."""
    if count <= room:
        return 1
    return next(n for n in (2, 5, 10, 20, 25, 50, 100, 200, 500, 1000, 10**9) if count / n <= room)


def is_labelled(labels: Sequence[str], index: int, every: int) -> bool:
    """Say whether a mark gets its label if every n-th does: round numbers are preferred."""
    text = labels[index]
    return int(text) % every == 0 if every > 1 and text.isdigit() else index % every == 0


# --------------------------------------------------------------------------- windows of steps, and shares


def windows(numbers: Sequence[int], at_most: int) -> list[tuple[int, int]]:
    """Cut the steps into at most `at_most` consecutive ranges of equal round width; every step is in one."""
    if not numbers:
        return []
    last = max(numbers)
    width = next(n for n in (1, 2, 5, 10, 20, 25, 50, 100, 200, 500, 1000, last) if -(-last // n) <= at_most)
    return [(first, min(first + width - 1, last)) for first in range(1, last + 1, width)]


def window_words(window: tuple[int, int]) -> str:
    """Write a range of steps."""
    return str(window[0]) if window[0] == window[1] else f"{window[0]}–{window[1]}"


def inside(window: tuple[int, int], step: int) -> bool:
    """Say whether a step is in a range."""
    return window[0] <= step <= window[1]


def quantile(values: Sequence[float], share: float) -> float:
    """Compute a quantile by linear interpolation between the two nearest ranks."""
    ranked = sorted(values)
    place = share * (len(ranked) - 1)
    below = int(place)
    above = min(below + 1, len(ranked) - 1)
    return ranked[below] + (ranked[above] - ranked[below]) * (place - below)


def share(part: float, whole: float) -> float | None:
    """Divide; None if there is nothing to divide by."""
    return part / whole if whole else None


def percent(part: float, whole: float) -> str:
    """Write a share in percent; a dash if there is nothing to divide by."""
    return f"{part / whole:.1%}" if whole else "–"


# --------------------------------------------------------------------------- the numbers as text


def csv_text(table: Table) -> str:
    """Write a table as CSV."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows([[_plain(cell) for cell in row] for row in table.rows])
    return buffer.getvalue()


def _plain(cell: Cell) -> Cell:
    """Quote a text that a spreadsheet would take for a formula: a candidate chooses its own name."""
    return f"'{cell}" if isinstance(cell, str) and cell[:1] in ("=", "+", "-", "@", "\t", "\r") else cell
