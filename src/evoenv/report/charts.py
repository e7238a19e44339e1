"""Charts as plain data: what is drawn, in which colour of the palette, with which words. Two modules draw them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Cell: TypeAlias = str | int | float | None

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
    """An SVG dash pattern: lines must not be told apart by colour alone."""
    low: Sequence[float | None] = ()
    high: Sequence[float | None] = ()
    dots: bool = False
    """Measured only where `low` is known: dots with intervals there, and a plain line between them."""


@dataclass(frozen=True, slots=True)
class Lines:
    x: Sequence[int]
    series: Sequence[Series]
    label: str
    share: bool = False
    """The values are shares: the axis runs from 0 to 1 and is written in percent."""
    x_label: str = "step"


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
    label: str
    value: float
    colour: str
    words: str
    """Written at the bar's end."""
    tip: str = ""


@dataclass(frozen=True, slots=True)
class Bars:
    bars: Sequence[Bar]


@dataclass(frozen=True, slots=True)
class Heat:
    """Shares from 0 to 1 by row and column; None where a column has nothing to count."""

    rows: Sequence[str]
    columns: Sequence[str]
    values: Sequence[Sequence[float | None]]
    tips: Sequence[Sequence[str]]
    x_label: str = "step"
    gap_after: int = 0
    """So many columns stand apart, at the left."""


@dataclass(frozen=True, slots=True)
class Span:
    """A life: from a step to another, or to the end of the chart where it goes on."""

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
    spans: Sequence[Span]
    last: int


@dataclass(frozen=True, slots=True)
class Node:
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


Panel: TypeAlias = Lines | Columns | Bars | Heat | Spans | Tree


@dataclass(frozen=True, slots=True)
class Table:
    columns: tuple[str, ...]
    rows: list[tuple[Cell, ...]]


@dataclass(frozen=True, slots=True)
class Figure:
    key: str
    """Also the name of its PNG and CSV."""
    title: str
    caption: str
    alt: str
    """What the picture shows, for those who do not see it."""
    panels: Sequence[Panel] = ()
    """None where the run has nothing to draw; `caption` says why."""
    table: Table = field(default_factory=lambda: Table((), []))
    legend: Literal["series", "none"] = "series"


def is_measured(series: Series, index: int) -> bool:
    """Whether the value is a measurement, not a point on the line between two."""
    return not series.dots or not series.low or series.low[index] is not None


def nice_ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round values from at or below `low` to at or above `high`."""
    from math import ceil, floor, log10

    if high - low < 1e-9:  # nothing to tell apart
        high = low + 1.0
    raw = (high - low) / count
    magnitude = 10.0 ** floor(log10(raw))
    step = next(factor * magnitude for factor in (1, 2, 2.5, 5, 10) if factor * magnitude >= raw * 0.999)
    first, last = floor(low / step + 1e-9), ceil(high / step - 1e-9)
    return [round(index * step, 10) for index in range(first, last + 1)]


def tick_words(value: float, share: bool = False) -> str:
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
    """Whether the mark gets its label where every n-th does: round numbers are preferred."""
    text = labels[index]
    return int(text) % every == 0 if every > 1 and text.isdigit() else index % every == 0
