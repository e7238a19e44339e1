"""What `evoenv eval` shows: a bar while it samples, tables when it is done."""

from __future__ import annotations

import re
import time
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from evoenv.cli.common import PLAIN_SECONDS, console, visible
from evoenv.evaluation import Evaluation
from evoenv.evaluation.scoreboard import Scoreboard

ENVIRONMENTS_SHOWN = 40


class ProgressBar:
    """Samples done of all, on stderr; where that is no terminal, a line every half minute."""

    def __init__(self, screen: Console, description: str) -> None:
        self._screen, self._description = screen, visible(description)
        self._said = time.monotonic()
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=screen,
            disable=not screen.is_terminal,
        )
        self._task = self._bar.add_task(escape(self._description), total=None)

    def __call__(self, done: int, total: int) -> None:
        self._bar.update(self._task, completed=done, total=total)
        if self._bar.disable and time.monotonic() - self._said > PLAIN_SECONDS:
            self._said = time.monotonic()
            self._screen.print(f"{self._description}: {done} of {total}", markup=False, highlight=False, soft_wrap=True)

    def stop(self) -> None:
        self._bar.stop()

    def __enter__(self) -> ProgressBar:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()


def show(label: str, folder: Path, evaluations: list[Evaluation], scoreboard: Scoreboard | None = None) -> None:
    """Show what an evaluation came to; with a `scoreboard`, the mean over its suites as well."""
    screen = console()
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("suite", overflow="fold")
    for column in ("n × k", "pass@1 (95% interval)", "pass@k", "score", "no answer", "cut"):
        table.add_column(column, justify="right", no_wrap=True)
    for item in evaluations:
        k, best = max(item.pass_at.items(), default=(1, float("nan")))
        table.add_row(
            Text(visible(item.suite)),
            f"{len(item.items)} × {item.samples}",
            f"{item.accuracy.mean:.3f} ({item.accuracy.low:.3f}–{item.accuracy.high:.3f})",
            f"{best:.3f}" if k > 1 else "–",
            f"{item.mean_score.mean:.3f}",
            f"{item.format_failures:.1%}",
            f"{item.truncated:.1%}",
        )
    if scoreboard is not None:
        mean = scoreboard.average
        table.add_row(
            Text("Avg", "bold"),
            f"{sum(bool(item.items) for item in evaluations)} suites",
            Text(f"{mean.mean:.3f} ({mean.low:.3f}–{mean.high:.3f})", "bold"),
            *["–"] * 4,
        )
    screen.print(Text(visible(label), "bold"), soft_wrap=True)
    screen.print(table)
    for item in evaluations:
        show_levels(item, screen)
        for line in remarks(item):
            screen.print(Text(f"  {visible(line)}", "yellow"), soft_wrap=True)
    screen.print(Text(f"every sample: {visible(str(folder))}", "dim"), soft_wrap=True)


def show_levels(evaluation: Evaluation, screen: Console) -> None:
    """Show environments as rows, levels as columns."""
    levels = sorted({item.difficulty for item in evaluation.items if item.difficulty is not None})
    if not levels:
        return
    table = Table(box=None, header_style="bright_black", pad_edge=True)
    table.add_column("environment", no_wrap=True)
    for level in levels:
        table.add_column(f"level {level}", justify="right")
    groups = list(evaluation.by_environment.values())
    for group in groups[:ENVIRONMENTS_SHOWN] if len(groups) <= ENVIRONMENTS_SHOWN else []:
        table.add_row(Text(visible(group.name)), *(_rate(evaluation, group.id, level) for level in levels))
    table.add_row(Text("all", "bold"), *(_rate(evaluation, None, level) for level in levels))
    screen.print(table)


def _rate(evaluation: Evaluation, group: str | None, level: int) -> str:
    values = [
        value
        for item in evaluation.items
        if item.difficulty == level and (group is None or item.group == group)
        for value in item.correct
    ]
    return f"{sum(values) / len(values):.3f}" if values else "–"


def remarks(evaluation: Evaluation) -> list[str]:
    """Return what a reader of the numbers should know."""
    lines = []
    if evaluation.bad:
        first = evaluation.bad[0]
        lines.append(
            f"{len(evaluation.bad)} instances could not be posed and are in no mean; {first.id}: {first.reason}"
        )
        if refused := re.search(r"import of '(\w+)[\w.]*' is not allowed", first.reason):
            lines.append(
                f"if you trust the code, put it into a run (evoenv import {evaluation.suite} --run DIR --allow-module "
                f"{refused[1]}) and evaluate on the run: --suite DIR"
            )
    if evaluation.errors:
        lines.append(f"{evaluation.errors} samples were refused (a prompt too long, say) and count as wrong")
    if evaluation.grader_failures:
        lines.append(f"the grading of {evaluation.grader_failures} samples was ended; they count as wrong")
    if not evaluation.sampled and evaluation.items:
        lines.append("nothing was sampled: all of it was in the results already")
    return lines
