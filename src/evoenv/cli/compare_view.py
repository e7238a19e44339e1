"""How far a comparison is: bars on a terminal, lines in logs and pipes."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from evoenv.comparison.orchestrate import Watcher
from evoenv.comparison.plan import ComparisonPlan, RunPlan, is_done
from evoenv.wording import duration, plural


def open_watcher(plan: ComparisonPlan, directory: Path, screen: Console, stack: ExitStack, *, plain: bool) -> Watcher:
    done = [run.name for run in plan.runs if is_done(directory, plan, run)]
    screen.print(
        f"{plural(len(plan.runs), 'run')} of {plan.budget}, {len(done)} finished before; in {directory}",
        markup=False,
        soft_wrap=True,
    )
    if screen.is_terminal and not plain and not os.environ.get("NO_COLOR"):
        bars = Bars(plan, screen, done)
        stack.callback(bars.close)
        return bars
    return Lines(plan, screen)


class Lines:
    """One line per evaluation, for logs and pipes."""

    def __init__(self, plan: ComparisonPlan, screen: Console) -> None:
        self._plan, self._screen = plan, screen
        self._began: dict[str, float] = {}

    def _say(self, run: RunPlan, text: str) -> None:
        self._screen.print(f"{run.name}: {text}", markup=False, highlight=False, soft_wrap=True)

    def began(self, run: RunPlan) -> None:
        self._began[run.name] = time.monotonic()
        self._say(run, "begins")

    def progress(self, run: RunPlan, facts: dict[str, Any]) -> None:
        if "accuracy" in facts:
            where = f"step {facts['step']:,}, {facts['tokens']:,} tokens"
            self._say(run, f"{where}: {facts['accuracy']:.1%} on {facts['suite']}")

    def ended(self, run: RunPlan, error: str | None) -> None:
        took = duration(time.monotonic() - self._began[run.name])
        self._say(run, f"failed after {took}: {error}" if error else f"finished in {took}")


class Bars:
    """A bar for every run at work and one for all."""

    def __init__(self, plan: ComparisonPlan, screen: Console, done: list[str]) -> None:
        self._plan = plan
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f}%"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[shown]}"),
            console=screen,
        )
        self._total = plan.steps or plan.tokens
        self._all = self._progress.add_task("all runs", total=len(plan.runs) * self._total, shown="")
        self._finished = len(done)
        self._tasks: dict[str, Any] = {}
        self._at: dict[str, int] = {}
        self._shown: dict[str, dict[str, str]] = {}
        self._advance()
        self._progress.start()

    def began(self, run: RunPlan) -> None:
        self._tasks[run.name] = self._progress.add_task(run.name, total=self._total, shown="")

    def progress(self, run: RunPlan, facts: dict[str, Any]) -> None:
        figures = self._shown.setdefault(run.name, {})
        if facts.get("score") is not None:
            figures["score"] = f"{facts['score']:.3f}"
        if "accuracy" in facts:
            figures[f"{facts['suite'][-16:]}"] = f"{facts['accuracy']:.1%}"
        at = min(facts["step"] if self._plan.steps else facts["tokens"], self._total)
        self._at[run.name] = at
        text = "  ".join(f"{name} {value}" for name, value in figures.items())
        self._progress.update(self._tasks[run.name], completed=at, shown=text)
        self._advance()

    def ended(self, run: RunPlan, error: str | None) -> None:
        self._at.pop(run.name, None)
        if error:
            self._progress.update(self._tasks[run.name], shown=f"failed: {error}")
        else:
            self._finished += 1
            self._progress.update(self._tasks[run.name], completed=self._total)
        self._advance()

    def _advance(self) -> None:
        self._progress.update(self._all, completed=self._finished * self._total + sum(self._at.values()))

    def close(self) -> None:
        self._progress.stop()
