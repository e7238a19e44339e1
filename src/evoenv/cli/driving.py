"""What `train` and `synth` share: options, watching a run on a terminal, stopping it, and how it ends."""

from __future__ import annotations

import argparse
import logging
import os
import shlex
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from types import FrameType
from typing import Protocol

from rich.console import Console
from rich.logging import RichHandler

from evoenv.api import RunResult
from evoenv.cli.common import add_allow_degraded
from evoenv.cli.live import LiveView
from evoenv.cli.watching import PlainView, Watch
from evoenv.config import Config
from evoenv.errors import InputError
from evoenv.ports import Streams
from evoenv.run import check_begun, check_free
from evoenv.stages.context import Observer, Run
from evoenv.store.store import STAGES, Store

INTERRUPTED = 130


# --------------------------------------------------------------------------- settings


def add_run_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--preset",
        metavar="P",
        help="a shipped configuration: nano (train), laptop (synth without --base-url), one-gpu, paper-4b, …",
    )
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings in TOML, on top of the preset")
    parser.add_argument(
        "--set", dest="overrides", action="append", default=[], metavar="a.b=v", help="one setting; may be repeated"
    )
    parser.add_argument("--run", dest="run_directory", type=Path, metavar="DIR", help="the run's directory")
    parser.add_argument("--resume", action="store_true", help="continue the run in --run where it was stopped")
    parser.add_argument("--minutes", type=float, metavar="M", help="stop cleanly after M minutes")
    parser.add_argument("--plain", action="store_true", help="one line per stage instead of the live view")
    parser.add_argument(
        "--help-config", action="store_true", help="print every setting with its value and meaning, as TOML"
    )
    add_allow_degraded(parser, trusted="models")


def preset_of(arguments: argparse.Namespace, default: str | None = None) -> str | None:
    """Return the preset that was asked for, else the default one unless a file has the settings."""
    preset: str | None = arguments.preset or (None if arguments.config else default)
    return preset


def resolve_run(arguments: argparse.Namespace, stem: str) -> Path:
    """Return the run's directory: as given, else a new one below `runs/`. Refuse before any work one that is no use."""
    if arguments.resume:
        if arguments.run_directory is None:
            raise InputError("--resume needs --run DIR: which run is to be continued?")
        if arguments.preset or arguments.config:
            raise InputError(
                "a resumed run keeps its own configuration; leave --preset and --config out, "
                "and use --set for what may change (run.steps, budgets, memory)"
            )
        check_begun(arguments.run_directory)
        return Path(arguments.run_directory)
    directory = Path(arguments.run_directory or Path("runs") / f"{stem}-{time.strftime('%Y%m%d-%H%M%S')}")
    check_free(directory)
    return directory


def check_minutes(minutes: float | None) -> None:
    if minutes is not None and not minutes > 0:
        raise InputError(f"--minutes is {minutes:g}; expected a positive number")


# --------------------------------------------------------------------------- watching and stopping


@contextmanager
def logged(screen: Console) -> Iterator[None]:
    """Show warnings above the live view, or as plain lines, for as long as the command runs."""
    package = logging.getLogger("evoenv")
    before = package.handlers[:], package.propagate
    package.handlers[:] = [RichHandler(console=screen, show_time=False, show_path=False, markup=False)]
    package.propagate = False
    try:
        yield
    finally:
        package.handlers[:], package.propagate = before


def open_view(store: Store, config: Config, command: str, screen: Console, *, plain: bool, trains: bool) -> Watch:
    if screen.is_terminal and not plain:
        return LiveView(store, config, command, screen, trains=trains)

    def write(line: str) -> None:
        screen.print(line, soft_wrap=True, markup=False, highlight=False)

    return PlainView(store, config, command, write, trains=trains)


class Stoppable(Protocol):
    """What shows that a stop was asked for."""

    def stopping(self, text: str) -> None: ...

    def close(self) -> None: ...


@contextmanager
def stopping(
    stop: threading.Event, view: Stoppable, minutes: float | None, *, what: str = "stage", lost: str = "nothing"
) -> Iterator[list[str]]:
    """Stop after the current stage at the first Ctrl-C (or SIGTERM) or after `minutes`; at once at the second Ctrl-C.

    The second one really ends the process where it stands: a run loses nothing to that, and waiting for the workers
    of a stage that is not wanted any more could take minutes. Yields the reasons of a requested stop. `what` is
    finished before a stop, `lost` is what a stop at once costs, both in words.
    """
    reasons: list[str] = []

    def on_signal(number: int, frame: FrameType | None) -> None:
        if reasons and reasons[0] == "interrupted":
            view.close()
            print(f"\nevoenv: stopped at once; lost: {lost}", file=sys.stderr, flush=True)
            os._exit(INTERRUPTED)
        reasons.insert(0, "interrupted")
        stop.set()
        view.stopping(f"stopping after this {what}; Ctrl-C again stops at once and loses {lost}")

    def on_time() -> None:
        reasons.append("time")
        stop.set()
        view.stopping(f"the {minutes:g} minutes are over: stopping after this {what}")

    previous = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    timer = threading.Timer(minutes * 60, on_time) if minutes is not None else None
    if timer is not None:
        timer.daemon = True
        timer.start()
    try:
        yield reasons
    finally:
        if timer is not None:
            timer.cancel()
        for number, handler in previous.items():
            signal.signal(number, handler)


class Terminal:
    """Watches one run on the terminal, and stops it by Ctrl-C or after some minutes."""

    def __init__(self, command: str, screen: Console, *, plain: bool, minutes: float | None, meter: Meter) -> None:
        self._command, self._screen, self._plain = command, screen, plain
        self._minutes, self._meter = minutes, meter
        self._reasons: list[str] = []

    def preparing(self) -> AbstractContextManager[object]:
        if self._screen.is_terminal:
            return self._screen.status("entering the first environments …")
        return nullcontext()

    @contextmanager
    def watch(self, run: Run) -> Iterator[Observer]:
        view = open_view(run.store, run.config, self._command, self._screen, plain=self._plain, trains=run.training)
        try:
            if hasattr(view, "meter"):
                view.meter = lambda: self._meter(run)
            else:
                self._screen.print(f"the run is in {run.store.directory}", markup=False, soft_wrap=True)
            policy = run.policy
            view.follow((lambda: policy.traffic) if isinstance(policy, Streams) else lambda: None)
            with stopping(run.stop, view, self._minutes) as self._reasons:
                yield view
        finally:
            view.close()

    def end(self, result: RunResult) -> int:
        """Say how to go on with a run that was stopped; return the exit code."""
        if result.finished:
            return 0
        again = resume_command(self._command, result.directory)
        if result.exhausted is not None:
            self._say(f"{result.exhausted}\nraise the budget and continue: {again}")
        elif self._reasons:
            with Store.read(result.directory) as store:
                self._say(f"stopped after {last_event(store)}; continue: {again}")
        return INTERRUPTED if self._reasons and self._reasons[0] == "interrupted" else 0

    def _say(self, text: str) -> None:
        self._screen.print(text, markup=False, soft_wrap=True)


Meter = Callable[[Run], tuple[str, float]]
"""What the policy's work is measured by: a label and a number."""


def resume_command(command: str, directory: Path) -> str:
    return f"evoenv {command} --run {shlex.quote(str(directory))} --resume"


def last_event(store: Store) -> str:
    """Return the last stage that is done, in words."""
    step = store.last_step() + 1
    done = [stage for stage in STAGES if store.stage_done(step, stage)]
    return f"stage '{done[-1]}' of step {step}" if done else f"step {step - 1}"
