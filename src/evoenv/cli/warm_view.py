"""What is seen of a warm start: bars, lines, and what was measured."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from evoenv.cli.common import PLAIN_SECONDS
from evoenv.warmstart.abilities import Stopped
from evoenv.warmstart.pairs import CorpusPairs, PairSource

if TYPE_CHECKING:
    from evoenv.warmstart.process import Progress


def compose(source: PairSource, bar: Bar, stop: threading.Event | None = None) -> bool:
    """Compose what a corpus shows: a minute or two that can be watched. False if a stop was requested."""
    if not isinstance(source, CorpusPairs):
        return True
    count = source.recipe.programs
    task = bar.add_task("programs composed", total=count, facts="")
    said = time.monotonic()
    for number in range(1, count + 1):
        if stop is not None and stop.is_set():
            return False
        source.program(number - 1)
        bar.update(task, completed=number)
        if bar.disable and time.monotonic() - said > PLAIN_SECONDS:
            said = time.monotonic()
            bar.console.print(f"{number:,} of {count:,} programs composed", markup=False)
    bar.remove_task(task)
    return True


def open_bar(screen: Console) -> Bar:
    """Open a bar for tasks that count, with a field `facts`; it shows nothing without a terminal."""
    return Bar(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[facts]}"),
        TimeRemainingColumn(),
        console=screen,
        disable=not screen.is_terminal,
    )


class View:
    """A bar on a terminal, a line now and then elsewhere; and the stop that somebody asks for."""

    def __init__(self, screen: Console, tokens: int) -> None:
        self.screen = screen
        self.stop = threading.Event()
        self.bar = open_bar(screen)
        self._task = self.bar.add_task("tokens", total=tokens, facts="")
        self._said = time.monotonic()
        self.bar.start()

    def watch(self, told: Progress) -> None:
        facts = f"loss {told.loss:.3f}  {told.tokens_per_second:,.0f} tokens/s"
        self.bar.update(self._task, completed=told.tokens, total=told.total, facts=facts)
        if told.held_out:
            self.screen.print(check_line(told), markup=False, soft_wrap=True)
        elif self.bar.disable and time.monotonic() - self._said > PLAIN_SECONDS:
            self._said = time.monotonic()
            self.screen.print(f"{told.tokens:,} of {told.total:,} tokens  {facts}", markup=False, soft_wrap=True)

    def preparing(self) -> None:
        """Say that the first step is being prepared: a tokenizer may have to be learnt, a model loaded, data read."""
        self.bar.update(self._task, completed=0, facts="preparing model and data")

    def measuring(self, what: str) -> None:
        """Say what is measured next; here a stop is heard, too."""
        if self.stop.is_set():
            raise Stopped
        self.bar.update(self._task, facts=f"measuring {what}")
        if self.bar.disable:
            self.screen.print(f"measuring {what}", markup=False, soft_wrap=True)

    def stopping(self, text: str) -> None:
        self.screen.print(text, markup=False)

    def close(self) -> None:
        self.bar.stop()


def check_line(told: Progress) -> str:
    """Write one line of what was measured."""
    losses = ", ".join(f"{role} {value:.3f}" for role, value in told.held_out.items())
    parts = [f"{told.tokens:,} tokens", f"held-out loss: {losses}"]
    if generator := told.abilities.get("generator"):
        parts.append(f"L5 {generator['reach_l5']:.0%} (new {generator['not_verbatim']:.0%})")
    for suite, result in told.abilities.get("solver", {}).items():
        parts.append(f"{suite} {result['accuracy']:.0%}")
    if reviewer := told.abilities.get("reviewer"):
        parts.append(f"review {reviewer['accuracy']:.0%}")
    for suite, result in told.abilities.get("programmer", {}).items():
        parts.append(f"programs, {suite} {result['accuracy']:.0%}")
    return "; ".join(parts)


def ability_rows(abilities: dict[str, Any]) -> list[tuple[str, str]]:
    """Return what was measured of each role, as words and numbers."""
    rows = []
    for role, values in abilities.items():
        for name, value in values.items():
            if isinstance(value, dict) and "accuracy" in value:
                text = f"{value['accuracy']:.1%} ({value['low']:.1%} to {value['high']:.1%})"
                text += f"; chance {value['chance']:.1%}" if "chance" in value else ""
            elif isinstance(value, dict):  # candidates by the layer that they reach
                text = ", ".join(f"L{layer}: {count}" for layer, count in value.items())
            else:
                text = f"{value:.1%}" if isinstance(value, float) else str(value)
            rows.append((f"{role}: {name.replace('_', ' ').replace('l5', 'L5')}", text))
    return rows
