"""Charts as PNG, by matplotlib, on a light ground: for papers and slides."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import EngFormatter, MaxNLocator, PercentFormatter

from evoenv.report.charts import (
    PALETTE,
    Bars,
    Columns,
    Figure,
    Groups,
    Heat,
    Lines,
    Panel,
    Spans,
    Tree,
    is_labelled,
    is_measured,
    label_every,
    positions,
)

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

WIDTH, DPI = 8.0, 150
PANEL = (4.6, 3.4)
"""Inches of a panel that stands beside others."""
INK, SOFT, RULE = "#1d2129", "#565e6b", "#e2dfd8"
FEW = 12
"""Up to this many values of a line are marked."""
THOUSANDS_FROM = 10_000
"""From here on positions are counted in thousands and millions."""
NAMED_AT_MOST = 60
"""More rows than this are drawn without names."""


def paint(figure: Figure) -> bytes:
    """Draw a figure as PNG."""
    columns = min(figure.columns, len(figure.panels))
    rows = -(-len(figure.panels) // columns)
    heights = [_height(panel) for panel in figure.panels] if figure.columns == 1 else [PANEL[1]] * rows
    width = WIDTH if figure.columns == 1 else PANEL[0] * columns
    canvas = Canvas(figsize=(width, sum(heights) + 0.5), dpi=DPI, facecolor="white", layout="constrained")
    FigureCanvasAgg(canvas)
    axes = list(canvas.subplots(rows, columns, squeeze=False, gridspec_kw={"height_ratios": heights}).flat)
    for ax in axes[len(figure.panels) :]:
        ax.set_visible(False)
    for ax, panel in zip(axes, figure.panels, strict=False):
        ax.tick_params(colors=SOFT, labelsize=9, length=0)
        for side in ("top", "right", "left", "bottom"):
            ax.spines[side].set_visible(False)
        _PAINTERS[type(panel)](ax, panel)
        if figure.columns == 1:
            _legend(ax)
    if figure.columns > 1:
        _shared_legend(canvas, axes)
    if figure.title:
        canvas.suptitle(_plain(figure.title), fontsize=12, color=INK, x=0.01, ha="left", fontweight="bold")
    buffer = io.BytesIO()
    canvas.savefig(buffer, format="png", metadata={"Title": _plain(figure.title)})
    return buffer.getvalue()


def _height(panel: Panel) -> float:
    match panel:
        case Bars():
            return 0.3 * len(panel.bars) + 0.2
        case Groups():
            return 0.3 * len(panel.rows) + 0.8
        case Heat():
            return 0.22 * len(panel.rows) + 0.6
        case Spans():
            return _many_rows(len(panel.spans))
        case Tree():
            return _many_rows(panel.rows)
        case _:
            return 3.0


def _many_rows(count: int) -> float:
    return min(14.0, max(2.0, 0.22 * count if count <= NAMED_AT_MOST else 8.0 + count / 120)) + 0.6


def _plain(text: str) -> str:
    """Escape dollar signs, which begin a formula in matplotlib, and what cannot be printed."""
    return "".join(char if char.isprintable() else "·" for char in text).replace("$", r"\$")


def _cut(text: str, most: int = 28) -> str:
    return _plain(text if len(text) <= most else text[: most - 1] + "…")


def _colour(name: str) -> str:
    return PALETTE[name]


def _dash(pattern: str) -> Any:
    return (0, tuple(float(part) / 2 for part in pattern.split())) if pattern else "solid"


def _numbers(values: Any) -> list[float]:
    return [float("nan") if value is None else float(value) for value in values]


def _ground(ax: Axes, label: str, x_label: str) -> None:
    ax.set_ylabel(_plain(label), color=SOFT, fontsize=9)
    ax.set_xlabel(_plain(x_label), color=SOFT, fontsize=9)
    ax.grid(axis="y", color=RULE, linewidth=0.8)
    ax.set_axisbelow(True)


def _titled(ax: Axes, title: str) -> None:
    if title:
        ax.set_title(_plain(title), fontsize=10, color=INK)


def _legend(ax: Axes) -> None:
    """Draw a legend above the panel, if there is more than one thing to tell apart."""
    count = len(ax.get_legend_handles_labels()[1])
    if count > 1:
        ax.legend(
            fontsize=8, frameon=False, labelcolor=INK, loc="lower left", bbox_to_anchor=(0, 1.0),
            ncols=min(count, 4), borderaxespad=0.2,
        )  # fmt: skip


def _shared_legend(canvas: Canvas, axes: Sequence[Axes]) -> None:
    """Draw one legend below all panels, of everything that any of them shows."""
    entries: dict[str, Artist] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    if entries:
        canvas.legend(
            list(entries.values()), list(entries), loc="outside lower center", ncols=min(len(entries), 2 * len(axes)),
            fontsize=8, frameon=False, labelcolor=INK,
        )  # fmt: skip


def _lines(ax: Axes, panel: Lines) -> None:
    _ground(ax, panel.label, panel.x_label)
    _titled(ax, panel.title)
    many = any(len(positions(panel, series)) > 1 for series in panel.series)
    for series in panel.series:
        x, colour = positions(panel, series), _colour(series.colour)
        marker = "o" if series.dots or len(x) <= FEW else None
        measured = [index for index in range(len(x)) if is_measured(series, index)]
        ax.plot(
            x, _numbers(series.values), color=colour, linestyle=_dash(series.dash), linewidth=1.8,
            marker=marker, markersize=4, markevery=measured, label=_plain(series.name),
        )  # fmt: skip
        if series.low and series.dots:
            places = [i for i, value in enumerate(series.low) if value is not None]
            low, high = _numbers(series.low), _numbers(series.high)
            ax.vlines([x[i] for i in places], [low[i] for i in places], [high[i] for i in places], color=colour)
        elif series.low:
            ax.fill_between(x, _numbers(series.low), _numbers(series.high), color=colour, alpha=0.16, linewidth=0)
    if ax.get_xlim()[1] >= THOUSANDS_FROM:
        ax.xaxis.set_major_formatter(EngFormatter(sep=""))
    else:
        ax.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
    ax.margins(x=0.02 if many else 0.5)
    if panel.share:
        ax.set_ylim(-0.02, 1.02)
        ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    elif panel.from_zero:
        ax.set_ylim(bottom=min(0.0, ax.get_ylim()[0]))


def _columns(ax: Axes, panel: Columns) -> None:
    _ground(ax, panel.label, panel.x_label)
    places = range(len(panel.x))
    up, down = [0.0] * len(panel.x), [0.0] * len(panel.x)
    for series in panel.series:
        values = [value or 0.0 for value in series.values]
        base = [up[i] if values[i] >= 0 else down[i] for i in places]
        ax.bar(places, values, 0.82, bottom=base, color=_colour(series.colour), label=_plain(series.name))
        for i in places:
            up[i], down[i] = (up[i] + values[i], down[i]) if values[i] >= 0 else (up[i], down[i] + values[i])
    every = label_every(len(panel.x), 20)
    shown = [index for index in places if is_labelled(panel.x, index, every)]
    ax.set_xticks(shown, [panel.x[index] for index in shown])
    ax.set_xlim(-0.8 - max(0, 5 - len(panel.x)), len(panel.x) - 0.2 + max(0, 5 - len(panel.x)))
    ax.axhline(0, color=SOFT, linewidth=0.8)
    if panel.marker is not None:
        ax.axvline(panel.marker[0], color=INK, linewidth=1, linestyle=(0, (4, 3)))
        ax.text(
            panel.marker[0], 1.0, " " + _plain(panel.marker[1]), fontsize=8, color=SOFT, va="top",
            transform=ax.get_xaxis_transform(),
        )  # fmt: skip


def _bars(ax: Axes, panel: Bars) -> None:
    places = range(len(panel.bars))
    ax.barh(places, [bar.value for bar in panel.bars], 0.72, color=[_colour(bar.colour) for bar in panel.bars])
    ax.set_yticks(places, [_cut(bar.label, 40) for bar in panel.bars], color=INK)
    ax.invert_yaxis()
    ax.set_xticks([])
    # Room for the words at a bar's end, on either side of zero.
    most, least = max([bar.value for bar in panel.bars] + [1.0]), min([bar.value for bar in panel.bars] + [0.0])
    gap = (most - least) * 0.01
    for place, bar in enumerate(panel.bars):
        below = bar.value < 0
        ax.text(
            bar.value + (-gap if below else gap), place, _plain(bar.words), va="center", fontsize=8.5, color=INK,
            ha="right" if below else "left",
        )  # fmt: skip
    if least < 0:
        ax.axvline(0, color=SOFT, linewidth=0.8)
    room = (most - least) * 0.2
    ax.set_xlim(least - room if least < 0 else 0, most + room)


def _groups(ax: Axes, panel: Groups) -> None:
    _titled(ax, panel.title)
    height = 0.8 / len(panel.series)
    for number, series in enumerate(panel.series):
        offset = (number - (len(panel.series) - 1) / 2) * height
        ax.barh(
            [row + offset for row in range(len(panel.rows))], _numbers(series.values), height * 0.92,
            color=_colour(series.colour), label=_plain(series.name),
        )  # fmt: skip
    ax.set_yticks(range(len(panel.rows)), [_cut(row) for row in panel.rows], color=INK)
    ax.invert_yaxis()
    ax.set_xlim(0, 1)
    ax.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    ax.set_xlabel(_plain(panel.label), color=SOFT, fontsize=9)
    ax.grid(axis="x", color=RULE, linewidth=0.8)
    ax.set_axisbelow(True)


def _heat(ax: Axes, panel: Heat) -> None:
    shades = LinearSegmentedColormap.from_list("blue", ["#ffffff", _colour("blue")]).with_extremes(bad="#ffffff")
    ax.imshow([_numbers(row) for row in panel.values], aspect="auto", cmap=shades, vmin=0, vmax=1)
    ax.set_yticks(range(len(panel.rows)), [_plain(name) for name in panel.rows], color=INK, fontsize=8)
    every = label_every(len(panel.columns), 17)
    shown = [i for i in range(len(panel.columns)) if i % every == 0]
    ax.set_xticks(shown, [panel.columns[i] for i in shown], fontsize=8)
    ax.set_xlabel(_plain(panel.x_label), color=SOFT, fontsize=9)
    for x in range(1, len(panel.columns)):
        ax.axvline(x - 0.5, color="white", linewidth=4 if x == panel.gap_after else 1)
    for y in range(1, len(panel.rows)):
        ax.axhline(y - 0.5, color="white", linewidth=1)
    for y, row in enumerate(panel.values):
        for x, value in enumerate(row):
            if value is not None and value >= 0.005:
                ax.text(
                    x, y, f"{value:.0%}", ha="center", va="center", fontsize=6.5, color="white" if value > 0.55 else INK
                )


def _step_axis(ax: Axes, last: int, rows: int) -> None:
    ax.set_xlim(-0.03 * max(last, 1), max(last, 1) * 1.02)
    ax.set_ylim(rows - 0.4, -0.6)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel("step", color=SOFT, fontsize=9)
    ax.grid(axis="x", color=RULE, linewidth=0.8)
    ax.set_axisbelow(True)


def _spans(ax: Axes, panel: Spans) -> None:
    count = len(panel.spans)
    _step_axis(ax, panel.last, count)
    ax.barh(
        range(count),
        [max(span.end - span.start, panel.last * 0.004) for span in panel.spans],
        0.66 if count <= NAMED_AT_MOST else 0.95,
        left=[span.start for span in panel.spans],
        color=[_colour(span.colour) for span in panel.spans],
    )
    named = count <= NAMED_AT_MOST
    ax.set_yticks(range(count) if named else [], [_cut(s.label) for s in panel.spans] if named else [], fontsize=8)


def _tree(ax: Axes, panel: Tree) -> None:
    _step_axis(ax, panel.last, panel.rows)
    ax.set_yticks([])
    for links, width, alpha in ((panel.faint, 0.4, 0.08), (panel.links, 0.8, 0.6)):
        curves = [_curve(panel, parent, child) for parent, child in links]
        ax.add_collection(LineCollection(curves, colors=_colour("grey"), linewidths=width, alpha=alpha))
    named = panel.rows <= NAMED_AT_MOST
    ax.scatter(
        [node.x for node in panel.nodes], [node.y for node in panel.nodes], s=22 if named else 7,
        c=[_colour(node.colour) for node in panel.nodes], zorder=3,
    )  # fmt: skip
    if named:
        ax.set_xlim(-0.03 * panel.last, panel.last * 1.22)
        for node in panel.nodes:
            ax.text(node.x + panel.last * 0.012, node.y, _cut(node.label), fontsize=7.5, color=INK, va="center")


def _curve(panel: Tree, parent: int, child: int) -> list[tuple[float, float]]:
    (x0, y0), (x1, y1) = ((panel.nodes[i].x, panel.nodes[i].y) for i in (parent, child))
    places = [step / 12 for step in range(13)]
    return [(x0 + (x1 - x0) * t, y0 + (y1 - y0) * (3 * t * t - 2 * t * t * t)) for t in places]


_PAINTERS: dict[type, Callable[[Any, Any], None]] = {
    Lines: _lines,
    Columns: _columns,
    Bars: _bars,
    Groups: _groups,
    Heat: _heat,
    Spans: _spans,
    Tree: _tree,
}
