"""Charts as inline SVG. Colours are classes, so that the page's light and dark themes apply; texts are escaped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from html import escape

from evoenv.report.charts import (
    Bars,
    Columns,
    Figure,
    Groups,
    Heat,
    Lines,
    Panel,
    Series,
    Spans,
    Tree,
    is_labelled,
    is_measured,
    label_every,
    nice_ticks,
    positions,
    tick_words,
)

WIDTH = 760
LEFT, RIGHT, TOP, BOTTOM = 58, 16, 14, 44
PLOT = WIDTH - LEFT - RIGHT
GAP = 22
LEGEND_ROW = 22
FAINT_AT_MOST = 400
"""More faint lines than this are a fog: they show only if they are asked for."""
CHARACTER = 6.3
"""About the width of a character of the labels; only placing depends on it."""


def draw(figure: Figure) -> str:
    """Draw a figure as one `<svg>`; empty if there is nothing to draw."""
    if not figure.panels:
        return ""
    parts: list[str] = []
    y = 0.0
    for panel in figure.panels:
        if isinstance(panel, (Lines, Groups)) and panel.title:
            parts.append(_text(LEFT, y + 12, panel.title, "label"))
            y += LEGEND_ROW
        legend = list(panel.series) if isinstance(panel, (Lines, Columns, Groups)) else []
        if len(legend) > 1:
            drawn, height = _legend(legend, y, isinstance(panel, Lines))
            parts.append(drawn)
            y += height
        body, height = _panel(panel)
        parts.append(f'<g transform="translate(0 {_n(y)})">{body}</g>')
        y += height + GAP
    height = y - GAP
    return (
        f'<svg viewBox="0 0 {WIDTH} {_n(height)}" role="img" aria-labelledby="{figure.key}-t {figure.key}-d" '
        f'class="chart"><title id="{figure.key}-t">{escape(figure.title)}</title>'
        f'<desc id="{figure.key}-d">{escape(figure.alt)}</desc>{"".join(parts)}</svg>'
    )


def _panel(panel: Panel) -> tuple[str, float]:
    match panel:
        case Lines():
            return _lines(panel)
        case Columns():
            return _columns(panel)
        case Bars():
            return _bars(panel)
        case Groups():
            return _groups(panel)
        case Heat():
            return _heat(panel)
        case Spans():
            return _spans(panel)
        case Tree():
            return _tree(panel)


# --------------------------------------------------------------------------- pieces


def _n(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _text(x: float, y: float, words: str, kind: str = "", anchor: str = "start", more: str = "") -> str:
    anchored = "" if anchor == "start" else f' text-anchor="{anchor}"'
    classed = f' class="{kind}"' if kind else ""
    return f'<text x="{_n(x)}" y="{_n(y)}"{classed}{anchored}{more}>{escape(words)}</text>'


def _tip(words: str) -> str:
    return f' data-tip="{escape(words)}"' if words else ""


def _legend(series: Sequence[Series], top: float, lines: bool) -> tuple[str, float]:
    parts: list[str] = []
    x, y = float(LEFT), top + 12
    for item in series:
        width = 26 + len(item.name) * CHARACTER + 16
        if x + width > WIDTH and x > LEFT:
            x, y = float(LEFT), y + LEGEND_ROW
        if lines:
            dash = f' stroke-dasharray="{item.dash}"' if item.dash else ""
            parts.append(f'<path d="M{_n(x)} {_n(y - 4)}h18" class="line s-{item.colour}"{dash}/>')
        else:
            parts.append(f'<rect x="{_n(x)}" y="{_n(y - 9)}" width="12" height="10" rx="2" class="f-{item.colour}"/>')
        parts.append(_text(x + 24, y, item.name, "legend"))
        x += width
    return "".join(parts), y - top + 10


def _y_axis(low: float, high: float, height: float, share: bool, label: str) -> tuple[str, Callable[[float], float]]:
    ticks = nice_ticks(low, high) if not share else [0.0, 0.25, 0.5, 0.75, 1.0]
    low, high = min(low, ticks[0]), max(high, ticks[-1])

    def at(value: float) -> float:
        return TOP + height - (value - low) / (high - low) * height

    parts = []
    for tick in ticks:
        kind = "axis" if tick == 0 else "grid"
        parts.append(f'<path d="M{LEFT} {_n(at(tick))}h{PLOT}" class="{kind}"/>')
        parts.append(_text(LEFT - 8, at(tick) + 4, tick_words(tick, share), anchor="end"))
    parts.append(
        _text(14, TOP + height / 2, label, "label", "middle", f' transform="rotate(-90 14 {_n(TOP + height / 2)})"')
    )
    return "".join(parts), at


def _x_axis(labels: Sequence[str], at: Callable[[int], float], bottom: float, label: str) -> str:
    widest = max((len(text) for text in labels), default=1) * CHARACTER + 12
    every = label_every(len(labels), max(1, int(PLOT / widest)))
    parts = [
        _text(at(index), bottom + 17, labels[index], anchor="middle")
        for index in range(len(labels))
        if is_labelled(labels, index, every)
    ]
    parts.append(_text(LEFT + PLOT / 2, bottom + 36, label, "label", "middle"))
    return "".join(parts)


def _runs(values: Sequence[float | None]) -> Iterator[list[int]]:
    """Yield the stretches of positions that have no gap."""
    run: list[int] = []
    for index, value in enumerate(values):
        if value is None:
            if run:
                yield run
            run = []
        else:
            run.append(index)
    if run:
        yield run


# --------------------------------------------------------------------------- lines and columns


def _lines(panel: Lines) -> tuple[str, float]:
    height = 190.0
    numbers = [v for s in panel.series for values in (s.values, s.low, s.high) for v in values if v is not None]
    zero = [0.0] if panel.from_zero or not numbers else []
    axis, at = _y_axis(min([*zero, *numbers]), max([*zero, *numbers]), height, panel.share, panel.label)
    places = sorted({*panel.x, *(x for series in panel.series for x in series.x)}) or [0.0]
    first, last = places[0], places[-1]

    def across(x: float) -> float:
        return LEFT + PLOT / 2 if first == last else LEFT + 10 + (x - first) / (last - first) * (PLOT - 20)

    # of many positions in between, as with series that have their own, round ones are labelled
    marks = panel.x or [tick for tick in nice_ticks(first, last) if first <= tick <= last]
    parts = [
        axis,
        _x_axis([tick_words(x) for x in marks], lambda index: across(marks[index]), TOP + height, panel.x_label),
    ]
    for series in panel.series:
        xs = [across(x) for x in positions(panel, series)]
        parts += _band(series, xs, at)
        dash = f' stroke-dasharray="{series.dash}"' if series.dash else ""
        for run in _runs(series.values):
            points = [(xs[i], at(series.values[i] or 0.0)) for i in run]
            if len(points) > 1:
                path = "L".join(f"{_n(x)} {_n(y)}" for x, y in points)
                parts.append(f'<path d="M{path}" class="line s-{series.colour}"{dash}/>')
            if len(points) == 1 or series.dots or len(xs) <= 12:
                parts += [
                    f'<circle cx="{_n(x)}" cy="{_n(y)}" r="3" class="f-{series.colour}"/>'
                    for i, (x, y) in zip(run, points, strict=True)
                    if is_measured(series, i)
                ]
    parts += _hovers(panel, places, across, height)
    return "".join(parts), TOP + height + BOTTOM


def _band(series: Series, xs: Sequence[float], at: Callable[[float], float]) -> list[str]:
    parts: list[str] = []
    for run in _runs(series.low):
        upper = [f"{_n(xs[i])} {_n(at(series.high[i] or 0.0))}" for i in run]
        lower = [f"{_n(xs[i])} {_n(at(series.low[i] or 0.0))}" for i in reversed(run)]
        if series.dots:  # an interval around each point: there is nothing between two evaluations
            for i in run:
                top, bottom = at(series.high[i] or 0.0), at(series.low[i] or 0.0)
                parts.append(
                    f'<path d="M{_n(xs[i])} {_n(top)}V{_n(bottom)}M{_n(xs[i] - 4)} {_n(top)}h8'
                    f'M{_n(xs[i] - 4)} {_n(bottom)}h8" class="whisker s-{series.colour}"/>'
                )
        elif len(run) > 1:
            parts.append(f'<path d="M{"L".join(upper + lower)}Z" class="band f-{series.colour}"/>')
    return parts


def _hovers(panel: Lines, places: Sequence[float], across: Callable[[float], float], height: float) -> list[str]:
    """Draw invisible strips that carry the numbers of each position."""
    indices_by_x = [{x: index for index, x in enumerate(positions(panel, series))} for series in panel.series]
    xs = [across(place) for place in places]
    parts = []
    for number, (place, x) in enumerate(zip(places, xs, strict=True)):
        left = (xs[number - 1] + x) / 2 if number else LEFT
        right = (x + xs[number + 1]) / 2 if number + 1 < len(xs) else LEFT + PLOT
        words = [f"{panel.x_label} {_words(place, False)}"]
        for series, indices in zip(panel.series, indices_by_x, strict=True):
            index = indices.get(place)
            value = None if index is None else series.values[index]
            if index is not None and value is not None and is_measured(series, index):
                around = ""
                if series.low and series.low[index] is not None:
                    around = f" ({_words(series.low[index], panel.share)} to {_words(series.high[index], panel.share)})"
                words.append(f"{series.name}: {_words(value, panel.share)}{around}")
        parts.append(
            f'<rect x="{_n(left)}" y="{TOP}" width="{_n(max(right - left, 1))}" height="{_n(height)}" class="hit"'
            f"{_tip(chr(10).join(words))}/>"
        )
    return parts


def _words(value: float | None, share: bool) -> str:
    if value is None:
        return "–"
    return f"{value:.1%}" if share else f"{value:,.3f}".rstrip("0").rstrip(".").replace("-", "−")


def _columns(panel: Columns) -> tuple[str, float]:
    height = 210.0
    count = len(panel.x)
    tops = [sum(max(s.values[i] or 0.0, 0.0) for s in panel.series) for i in range(count)]
    bottoms = [sum(min(s.values[i] or 0.0, 0.0) for s in panel.series) for i in range(count)]
    axis, at = _y_axis(min(0.0, *bottoms, 0.0), max(0.0, *tops, 0.0), height, False, panel.label)
    slot = min(PLOT / max(count, 1), 90.0)
    start = LEFT + (PLOT - slot * count) / 2
    width = slot * (0.78 if slot > 6 else 0.94)

    def middle(index: int) -> float:
        return start + slot * (index + 0.5)

    parts = [axis, _x_axis(list(panel.x), middle, TOP + height, panel.x_label)]
    for index in range(count):
        up, down = 0.0, 0.0
        words = [panel.tips[index]] if panel.tips else [f"{panel.x_label} {panel.x[index]}"]
        drawn = []
        for series in panel.series:
            value = series.values[index] or 0.0
            if not value:
                continue
            base = up if value > 0 else down
            y0, y1 = sorted((at(base), at(base + value)))
            drawn.append(
                f'<rect x="{_n(middle(index) - width / 2)}" y="{_n(y0)}" width="{_n(width)}" '
                f'height="{_n(max(y1 - y0, 0.5))}" class="f-{series.colour}"/>'
            )
            up, down = (base + value, down) if value > 0 else (up, base + value)
            if not panel.tips:
                words.append(f"{series.name}: {_words(abs(value), False)}")
        parts.append(f"<g{_tip(chr(10).join(words))}>{''.join(drawn)}</g>")
    if panel.marker is not None:
        x = middle(0) + panel.marker[0] * slot
        parts.append(f'<path d="M{_n(x)} {TOP}v{_n(height)}" class="mark"/>')
        parts.append(_text(x + 6, TOP + 10, panel.marker[1], "label"))
    return "".join(parts), TOP + height + BOTTOM


# --------------------------------------------------------------------------- bars and heat


def _bars(panel: Bars) -> tuple[str, float]:
    row = 26.0
    left = min(300.0, max(len(bar.label) for bar in panel.bars) * CHARACTER + 24)
    right = min(230.0, max(len(bar.words) for bar in panel.bars) * CHARACTER + 12)
    most = max([bar.value for bar in panel.bars] + [1.0])
    parts = []
    for index, bar in enumerate(panel.bars):
        y = index * row + 4
        width = bar.value / most * (WIDTH - left - right)
        label = bar.label if len(bar.label) * CHARACTER <= left else bar.label[: int(left / CHARACTER) - 1] + "…"
        length = max(width, 1.0 if bar.value else 0.0)
        parts.append(
            f"<g{_tip(bar.tip)}>{_text(left - 10, y + 14, label, anchor='end')}"
            f'<rect x="{_n(left)}" y="{_n(y)}" width="{_n(length)}" height="{_n(row - 7)}" rx="2" '
            f'class="f-{bar.colour}"/>{_text(left + width + 7, y + 14, bar.words, "number")}</g>'
        )
    return "".join(parts), row * len(panel.bars) + 8


def _groups(panel: Groups) -> tuple[str, float]:
    left = max(len(row) for row in panel.rows) * CHARACTER + 16
    room, thick = WIDTH - left - RIGHT, 18.0 / len(panel.series)
    parts = []
    for number, row in enumerate(panel.rows):
        y = number * 26 + 4
        words = [row, *(f"{series.name}: {_words(series.values[number], True)}" for series in panel.series)]
        widths = [max((series.values[number] or 0.0) * room, 0.5) for series in panel.series]
        bars = "".join(
            f'<rect x="{_n(left)}" y="{_n(y + at * thick)}" width="{_n(widths[at])}" height="{_n(thick)}" '
            f'class="f-{series.colour}"/>'
            for at, series in enumerate(panel.series)
        )
        parts.append(f"<g{_tip(chr(10).join(words))}>{_text(left - 8, y + 13, row, anchor='end')}{bars}</g>")
    bottom = len(panel.rows) * 26 + 4
    ticks = (0.0, 0.25, 0.5, 0.75, 1.0)
    parts += [_text(left + tick * room, bottom + 12, tick_words(tick, True), anchor="middle") for tick in ticks]
    parts.append(_text(left + room / 2, bottom + 31, panel.label, "label", "middle"))
    return "".join(parts), bottom + 38


def _heat(panel: Heat) -> tuple[str, float]:
    row = 19.0
    left = max(len(name) for name in panel.rows) * CHARACTER + 20
    gap = 10.0 if panel.gap_after else 0.0
    width = min((WIDTH - left - RIGHT - gap) / max(len(panel.columns), 1), 56.0)

    def at(index: int) -> float:
        return left + index * width + (gap if index >= panel.gap_after else 0.0)

    parts = []
    for y, name in enumerate(panel.rows):
        parts.append(_text(left - 8, y * row + 14, name, anchor="end"))
        for x, value in enumerate(panel.values[y]):
            if value is None:
                continue
            shade = f' class="heat" fill-opacity="{_n(0.06 + 0.94 * value)}"' if value else ' class="none"'
            parts.append(
                f'<rect x="{_n(at(x))}" y="{_n(y * row + 1)}" width="{_n(width - 1)}" height="{_n(row - 2)}"{shade}'
                f"{_tip(panel.tips[y][x])}/>"
            )
            if width >= 34 and value >= 0.005:
                kind = "cell-on" if value > 0.55 else "cell"
                parts.append(_text(at(x) + width / 2, y * row + 13.5, f"{value:.0%}", kind, "middle"))
    bottom = len(panel.rows) * row
    widest = max(len(text) for text in panel.columns) * CHARACTER + 8
    every = max(1, -(-int(widest) // max(int(width), 1)))
    for x, text in enumerate(panel.columns):
        if x < panel.gap_after or (x - panel.gap_after) % every == 0:
            parts.append(_text(at(x) + width / 2, bottom + 15, text, anchor="middle"))
    parts.append(_text(left + (WIDTH - left) / 2, bottom + 34, panel.x_label, "label", "middle"))
    return "".join(parts), bottom + 42


# --------------------------------------------------------------------------- lives and lineage


def _rows_height(count: int) -> float:
    """Return the height of a row: large for a few, small for hundreds, so that the whole stays a picture."""
    return max(3.0, min(20.0, 1500.0 / max(count, 1)))


def _steps(left: float, last: int, right: float = 20.0) -> Callable[[float], float]:
    spread = max(last, 1)
    return lambda step: left + step / spread * (WIDTH - left - right)


def _step_grid(at: Callable[[float], float], last: int, height: float, first_word: str) -> str:
    every = label_every(last + 1, 18)
    parts = []
    for step in range(last + 1):
        if step % every == 0:
            words = first_word if step == 0 else str(step)
            parts.append(f'<path d="M{_n(at(step))} 0V{_n(height)}" class="grid"/>')
            parts.append(_text(at(step), height + 16, words, anchor="middle"))
    parts.append(_text(WIDTH / 2, height + 35, "step", "label", "middle"))
    return "".join(parts)


def _spans(panel: Spans) -> tuple[str, float]:
    row = _rows_height(len(panel.spans))
    named = row >= 11
    left = min(230.0, max(len(span.label) for span in panel.spans) * CHARACTER + 16) if named else 30.0
    height = row * len(panel.spans) + 4
    at = _steps(left, panel.last)
    parts = [_step_grid(at, panel.last, height, "start")]
    for index, span in enumerate(panel.spans):
        y = index * row + 2
        x0, x1 = at(span.start), at(span.end)
        thick = max(row - (6 if named else 1), 1.5)
        drawn = (
            f'<rect x="{_n(x0)}" y="{_n(y + (row - thick) / 2)}" width="{_n(max(x1 - x0, 2))}" height="{_n(thick)}" '
            f'class="f-{span.colour}{" over" if span.over else ""}"/>'
        )
        if span.over and named:
            drawn += f'<path d="M{_n(x1)} {_n(y + 2)}v{_n(row - 4)}" class="end"/>'
        label = _text(left - 8, y + row / 2 + 4, _cut(span.label, left), anchor="end") if named else ""
        parts.append(f'<g class="go" data-go="{escape(span.target)}"{_tip(span.tip)}>{label}{drawn}</g>')
    return "".join(parts), height + BOTTOM


def _tree(panel: Tree) -> tuple[str, float]:
    row = _rows_height(panel.rows)
    named = row >= 11
    room = min(170.0, max(len(node.label) for node in panel.nodes) * CHARACTER + 14) if named else 20.0
    height = row * panel.rows + 6
    at = _steps(34, panel.last, room)

    def y(index: int) -> float:
        return 3 + (panel.nodes[index].y + 0.5) * row

    def link(pair: tuple[int, int], kind: str) -> str:
        parent, child = pair
        x0, x1 = at(panel.nodes[parent].x), at(panel.nodes[child].x)
        bend = x0 + (x1 - x0) * 0.5
        return (
            f'<path d="M{_n(x0)} {_n(y(parent))}C{_n(bend)} {_n(y(parent))} {_n(bend)} {_n(y(child))} '
            f'{_n(x1)} {_n(y(child))}" class="{kind}" data-from="{parent}" data-to="{child}"/>'
        )

    parts = [_step_grid(at, panel.last, height, "seeds")]
    faint = "faint" if len(panel.faint) <= FAINT_AT_MOST else "faint many"
    parts += [link(pair, faint) for pair in panel.faint]
    parts += [link(pair, "kin") for pair in panel.links]
    radius = max(1.6, min(5.0, row * 0.32))
    for index, node in enumerate(panel.nodes):
        label = _text(at(node.x) + radius + 5, y(index) + 4, _cut(node.label, room), "name") if named else ""
        parts.append(
            f'<g class="go node" data-node="{index}" data-go="{escape(node.target)}"{_tip(node.tip)}>'
            f'<circle cx="{_n(at(node.x))}" cy="{_n(y(index))}" r="{_n(radius)}" class="f-{node.colour}"/>{label}</g>'
        )
    return "".join(parts), height + BOTTOM


def _cut(text: str, room: float) -> str:
    most = max(4, int((room - 12) / CHARACTER))
    return text if len(text) <= most else text[: most - 1] + "…"
