"""The live terminal view of a run: a pure function from a snapshot to a screen, and the observer that draws it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, get_args

from rich import box
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from evoenv.cli.watching import Snapshot, Watch, traffic_line
from evoenv.config import Config
from evoenv.ports import Traffic
from evoenv.store.store import STAGES, Stage, Store
from evoenv.wording import duration

VERBS: dict[Stage, str] = {
    "generated": "generate",
    "validated": "validate",
    "reviewed": "review",
    "calibrated": "calibrate",
    "decided": "decide",
    "solved": "solve",
    "updated": "update",
    "rotated": "rotate",
}
assert set(VERBS) == set(get_args(Stage))

TESTS = (
    "proposed", "L1 source", "L2 runs", "L3 repeatable", "L4 varies", "L5 scorer", "review", "calibration", "admitted",
)  # fmt: skip
"""The bars of the funnel, along runs.funnel.FUNNEL."""

NUMBERS: tuple[tuple[str, str, str, bool], ...] = (
    ("generator/reward", "generator reward", "+.2f", True),
    ("calibration/pass_rate", "pass rate â", ".2f", True),
    ("solver/score", "solver score", ".3f", False),
    ("solver/right", "fully right", ".0%", False),
    ("solver/format_ok", "gave an answer", ".0%", False),
    ("solver/zero_variance", "groups, no signal", ".0%", False),
)
"""Metric, label, format, and whether a run without training has it too."""

Meter: TypeAlias = tuple[str, float]
"""What the policy's work is measured by: a label and a number."""
NO_METER: Meter = ("tokens per second", 0.0)

ACCENT, GOOD, QUIET, WARN = "cyan", "green", "bright_black", "yellow"
BLOCKS = " ▏▎▍▌▋▊▉█"
SPARKS = "▁▂▃▄▅▆▇"
SPINNER = "◐◓◑◒"
WIDE = 95
"""Columns from which there is room for words that a narrow screen goes without."""
EVENT_ROWS = 7


def render(snapshot: Snapshot, now: float, *, width: int, height: int, meter: Meter = NO_METER) -> RenderableType:
    """Draw the whole screen, as wide as given and no taller than it needs."""
    body = Table.grid(expand=True)
    body.add_column(ratio=1)
    body.add_column(ratio=1)
    body.add_row(
        _panel("funnel of this step", _funnel(snapshot, width // 2), len(TESTS)),
        _panel("run", _numbers(snapshot, width // 2, meter), len(TESTS)),
    )
    parts: list[RenderableType] = [_header(snapshot, now, width), _track(snapshot, now, width), body]
    rows = min(EVENT_ROWS, height - 18)
    if rows > 0:
        parts.append(_panel("events", _events(snapshot, rows), rows))
    return Group(*parts)


def _panel(title: str, content: RenderableType, rows: int) -> Panel:
    label = Text(title, QUIET)
    return Panel(content, title=label, title_align="left", box=box.ROUNDED, border_style=QUIET, height=rows + 2)


def _header(snapshot: Snapshot, now: float, width: int) -> Table:
    left = snapshot.seconds_left(now)
    row = Table.grid(expand=True)
    row.add_column(no_wrap=True, overflow="ellipsis")
    row.add_column(justify="right", no_wrap=True)
    row.add_row(
        Text.assemble((f" evoenv {snapshot.command} ", f"bold reverse {ACCENT}"), "  ", (snapshot.directory, "bold")),
        Text.assemble(
            ("step ", QUIET),
            (f"{snapshot.step}/{snapshot.steps}", "bold"),
            *((("   running ", QUIET), duration(now - snapshot.began)) if width >= WIDE else ()),
            ("   left ", QUIET),
            (duration(left) if left is not None else "known after step 1"),
            " ",
        ),
    )
    return row


def _track(snapshot: Snapshot, now: float, width: int) -> Group:
    """Draw the stages of the step, and how far the current one is."""
    stages = Text(" ", no_wrap=True, overflow="crop")
    gap = "  " if width >= WIDE else " "
    current = STAGES.index(snapshot.stage) if snapshot.stage is not None else len(STAGES)
    for position, stage in enumerate(STAGES):
        if not snapshot.trains and stage in ("solved", "updated"):
            continue
        if position < current:
            stages.append(f"✓ {VERBS[stage]}{gap}", GOOD)
        elif position == current:
            stages.append(f"{SPINNER[int(now * 8) % len(SPINNER)]} {VERBS[stage]}{gap}", f"bold {ACCENT}")
        else:
            stages.append(f"· {VERBS[stage]}{gap}", QUIET)
    if snapshot.stopping:
        return Group(stages, Text(f" {snapshot.stopping}", WARN, no_wrap=True, overflow="ellipsis"))
    if not snapshot.total:
        return Group(stages, Text(" " + "─" * (width - 2), QUIET))
    count = f" {snapshot.done:,} of {snapshot.total:,} "
    if snapshot.waiting and width >= WIDE:
        count = f"{count}· {snapshot.waiting} "
    room = max(10, width - len(count) - 2)
    bar = Text(" ")
    filled = round(room * snapshot.done / snapshot.total)
    bar.append("━" * filled, ACCENT)
    bar.append("─" * (room - filled), QUIET)
    bar.append(count)
    return Group(stages, bar)


def _funnel(snapshot: Snapshot, width: int) -> Table:
    rows = Table.grid(padding=(0, 1))
    rows.add_column(no_wrap=True, style=QUIET)
    rows.add_column(no_wrap=True)
    rows.add_column(justify="right", no_wrap=True)
    most = max(1, snapshot.funnel[0] or 0)
    room = max(6, width - 25)
    for label, count in zip(TESTS, snapshot.funnel, strict=True):
        if count is None:
            rows.add_row(label, Text("·" * room, QUIET), Text("–", QUIET))
            continue
        style = GOOD if label == "admitted" else ACCENT
        rows.add_row(label, bar_text(count / most, room, style), Text(f"{count:,}", "bold" if count else QUIET))
    return rows


def bar_text(share: float, width: int, style: str) -> Text:
    """Draw a bar in eighths of a cell, at least one for a share that is not zero."""
    eighths = max(round(share * width * 8), 1 if share > 0 else 0)
    text = BLOCKS[8] * (eighths // 8) + (BLOCKS[eighths % 8] if eighths % 8 else "")
    return Text(text.ljust(width), style)


def _numbers(snapshot: Snapshot, width: int, meter: Meter) -> Group:
    pool = Text(no_wrap=True, overflow="ellipsis")
    for count, noun in ((snapshot.active, "active"), (snapshot.originals, "seeds"), (snapshot.few_shot, "examples")):
        pool.append(f"{count:,} ", "bold").append(f"{noun}   ", QUIET)
    pool.rstrip()
    rows = Table.grid(padding=(0, 1))
    rows.add_column(no_wrap=True, style=QUIET, width=17)
    rows.add_column(justify="right", no_wrap=True, width=7)
    rows.add_column(no_wrap=True)
    rows.add_row("admitted so far", Text(f"{snapshot.admitted:,}", f"bold {GOOD}" if snapshot.admitted else QUIET), "")
    room = max(4, width - 32)
    for name, label, form, always in NUMBERS:
        if always or snapshot.trains:
            history = snapshot.trends.get(name, [])
            value = Text(format(history[-1], form), "bold") if history else Text("–", QUIET)
            rows.add_row(label, value, Text(sparkline(history, room), ACCENT))
    label, amount = meter
    speeds = snapshot.trends.get("time/tokens_per_second", [])
    amount = amount or (speeds[-1] if speeds else 0.0)  # at the start of a step: as fast as the last one
    value = Text(f"{amount:,.0f}", "bold") if amount else Text("–", QUIET)
    rows.add_row(label, value, Text(sparkline(speeds, room), ACCENT))
    return Group(pool, rows)


def sparkline(values: Sequence[float], width: int) -> str:
    """Draw the last values, from the lowest to the highest among them."""
    last = list(values)[-width:]
    if len(last) < 2:
        return ""
    low, high = min(last), max(last)
    scale = (len(SPARKS) - 1) / (high - low) if high > low else 0.0
    return "".join(SPARKS[round((value - low) * scale)] for value in last)


def _events(snapshot: Snapshot, rows: int) -> Group:
    lines: list[Text] = []
    for step, stage, line in list(snapshot.events)[-rows:]:
        style = GOOD if stage == "decided" and line.startswith("admitted") else ""
        head = (f"{step:>3}  {VERBS[stage]:<9}  ", QUIET)
        lines.append(Text.assemble(head, (line, style), no_wrap=True, overflow="ellipsis"))
    return Group(*lines, *[Text("")] * (rows - len(lines)))


class LiveView(Watch):
    """Draws the snapshot four times a second for as long as it is open."""

    def __init__(self, store: Store, config: Config, command: str, screen: Console, **options: Any) -> None:
        super().__init__(store, config, command, **options)
        self.meter: Callable[[], Meter] = lambda: NO_METER
        """Called at every drawing."""
        self._traffic: Callable[[], Traffic | None] = lambda: None
        self._screen = screen
        self._live = Live(console=screen, get_renderable=self._draw, refresh_per_second=4, transient=False)
        self._live.start()

    def follow(self, traffic: Callable[[], Traffic | None]) -> None:
        """Show what is under way while there is no other progress to show."""
        self._traffic = traffic

    def _draw(self) -> RenderableType:
        size = self._screen.size
        self.snapshot.waiting = traffic_line(self._traffic())
        return render(self.snapshot, time.monotonic(), width=size.width, height=size.height, meter=self.meter())

    def close(self) -> None:
        self._live.stop()
