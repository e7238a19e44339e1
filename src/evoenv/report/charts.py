"""Charts as plain data: what is drawn, in which colour of the palette, with which words.

A figure has one panel or several; a panel's class is its kind. The page draws a figure from this data, `png` paints it
for papers, and `csv_text` writes the numbers behind it.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

Cell: TypeAlias = str | int | float | None
MOST_COLUMNS = 100
"""More columns than this are drawn as windows of steps."""

DASHES = ("", "6 3", "2 3", "8 3 2 3")
"""Lengths of strokes and gaps: lines must not be told apart by colour alone."""
PALETTE: dict[str, str] = {
    # safe for the common colour-vision deficiencies (after Okabe and Ito); the page's style sheet has the same names
    "blue": "#0072b2",
    "orange": "#c45100",
    "green": "#00805e",
    "pink": "#b0588b",
    "sky": "#3a93c9",
    "amber": "#a87400",
    "grey": "#6b7280",
    # how far a candidate got: earlier refusals are lighter; what came after validation has another hue
    "l1": "#e3dccf",
    "l2": "#eccb8f",
    "l3": "#e0a94e",
    "l4": "#c98322",
    "l5": "#9c5c0c",
    "review": "#d5b8dd",
    "calibration": "#a87cb8",
    "novelty": "#774a8c",
    "admitted": "#0072b2",
}


@dataclass(frozen=True, slots=True)
class Series:
    """Values along x; None leaves a gap. `low` and `high` are a band around a line."""

    name: str
    values: Sequence[float | None]
    colour: str
    dash: str = ""
    """One of DASHES."""
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
    """Horizontal bars, one below the other; a negative one hangs to the left of zero (pages draw none)."""

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
    key: str
    """The environment's id."""


@dataclass(frozen=True, slots=True)
class Spans:
    """Lives along steps, one below the other."""

    spans: Sequence[Span]
    last: int


@dataclass(frozen=True, slots=True)
class Node:
    """One environment of a forest."""

    key: str
    """Its id."""
    label: str
    x: int
    y: float
    colour: str
    tip: str


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


def label_every(count: int, room: int) -> int:
    """Label every n-th of `count` marks so that about `room` labels appear."""
    if count <= room:
        return 1
    return next(n for n in (2, 5, 10, 20, 25, 50, 100, 200, 500, 1000, 10**9) if count / n <= room)


def is_labelled(labels: Sequence[str], index: int, every: int) -> bool:
    """Say whether a mark gets its label if every n-th does: round numbers are preferred."""
    text = labels[index]
    return int(text) % every == 0 if every > 1 and text.isdecimal() else index % every == 0


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
