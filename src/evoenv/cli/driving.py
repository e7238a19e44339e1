"""What `train` and `synth` share: settings from flags, the ports of a run, stopping, and how a run ends."""

from __future__ import annotations

import argparse
import logging
import os
import shlex
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol

from evoenv.config import Config, load_config
from evoenv.errors import BudgetExhausted, InputError

if TYPE_CHECKING:
    from rich.console import Console

    from evoenv.assembly import Ports
    from evoenv.cli.watching import Watch
    from evoenv.stages.context import Run
    from evoenv.store.store import Store

INTERRUPTED = 130


# --------------------------------------------------------------------------- settings


def add_run_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--preset", metavar="P", help="a shipped configuration: nano, laptop, tiny-test, paper-4b, …")
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings in TOML, on top of the preset")
    parser.add_argument(
        "--set", dest="overrides", action="append", default=[], metavar="a.b=v", help="one setting; may be repeated"
    )
    parser.add_argument("--run", dest="run_directory", type=Path, metavar="DIR", help="the run's directory")
    parser.add_argument("--resume", action="store_true", help="continue the run in --run where it was stopped")
    parser.add_argument("--minutes", type=float, metavar="M", help="stop cleanly after so many minutes")
    parser.add_argument("--plain", action="store_true", help="one line per stage instead of the live view")
    parser.add_argument(
        "--help-config", action="store_true", help="print every setting with its value and meaning, as TOML"
    )
    parser.add_argument(
        "--allow-degraded",
        action="store_true",
        help="run even where the kernel's isolation is incomplete (trusted models only)",
    )


def layers_of(arguments: argparse.Namespace, default_preset: str | None = None) -> list[Any]:
    """Preset and file, in the order in which they are laid over the defaults."""
    from evoenv.presets import preset

    name = arguments.preset or (None if arguments.config else default_preset)
    return [*([preset(name)] if name else []), *([arguments.config] if arguments.config else [])]


def load(arguments: argparse.Namespace, default_preset: str | None, extra: Sequence[str] = ()) -> Config:
    """The configuration of a new run: defaults < preset < the curriculum's recipe < file < --set < own flags."""
    from evoenv.curricula.recipes import recipe

    layers, overrides = layers_of(arguments, default_preset), [*arguments.overrides, *extra]
    own = recipe(load_config(*layers, overrides=overrides).curriculum.name)
    below = len(layers) - bool(arguments.config)
    return load_config(*layers[:below], own, *layers[below:], overrides=overrides)


def resolve_run(arguments: argparse.Namespace, stem: str) -> Path:
    """The run's directory: as given, else a new one below `runs/`. Refused before any work where it cannot be used."""
    from evoenv.store.store import Store

    if arguments.resume:
        if arguments.run_directory is None:
            raise InputError("--resume needs --run DIR: which run is to be continued?")
        if arguments.preset or arguments.config:
            raise InputError(
                "a resumed run keeps its own configuration; leave --preset and --config out, "
                "and use --set for what may change (run.steps, budgets, memory)"
            )
        if not Store.begun(arguments.run_directory):
            raise InputError(f"there is no run in {arguments.run_directory} to resume; start it without --resume")
        return Path(arguments.run_directory)
    directory = Path(arguments.run_directory or Path("runs") / f"{stem}-{time.strftime('%Y%m%d-%H%M%S')}")
    if Store.begun(directory):
        raise InputError(f"{directory} already holds a run; continue it with --resume, or choose another --run")
    place = directory.absolute()
    while not place.exists():
        place = place.parent
    if not place.is_dir() or not os.access(place, os.W_OK):
        raise InputError(
            f"no run can be made in {directory}: {place} is not a directory to write in; choose another --run"
        )
    return directory


def check_minutes(minutes: float | None) -> None:
    if minutes is not None and not minutes > 0:
        raise InputError(f"--minutes is {minutes:g}; expected a positive number")


def config_help(config: Config) -> str:
    """Every setting with its value and the words under it in `config.py`: a file that --config takes as it is."""
    import ast
    import inspect
    import json

    from evoenv import config as module
    from evoenv.config import to_mapping

    words: dict[tuple[str, str], str] = {}
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.ClassDef):
            for field, after in zip(node.body, [*node.body[1:], None], strict=True):
                if (
                    isinstance(field, ast.AnnAssign)
                    and isinstance(field.target, ast.Name)
                    and isinstance(after, ast.Expr)
                    and isinstance(after.value, ast.Constant)
                ):
                    words[node.name, field.target.id] = " ".join(str(after.value.value).split())
    lines: list[str] = []
    for section, values in to_mapping(config).items():
        kind = type(getattr(config, section)).__name__
        lines.append(f"[{section}]")
        for key, value in values.items():
            meaning = words.get((kind, key))
            lines += [f"# {meaning}"] if meaning else []
            lines.append(f"{key} = {json.dumps(value, ensure_ascii=False)}")
        lines.append("")
    return "\n".join(lines)


# --------------------------------------------------------------------------- watching and stopping


@contextmanager
def logged(screen: Console) -> Iterator[None]:
    """Warnings above the live view, or as plain lines, for as long as the command runs."""
    from rich.logging import RichHandler

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
        from evoenv.cli.live import LiveView

        return LiveView(store, config, command, screen, trains=trains)
    from evoenv.cli.watching import PlainView

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
    """Ctrl-C (or SIGTERM) once: finish the current stage, then stop. Twice: stop at once. And a timer.

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


def drive(
    store: Store,
    config: Config,
    ports: Ports,
    *,
    command: str,
    screen: Console,
    plain: bool,
    minutes: float | None = None,
    training: bool = True,
    meter: Callable[[Run], tuple[str, float]],
) -> int:
    """Run to the end, or to a stop; the exit code. Closes the store's run, and leaves the ports to the caller."""
    from evoenv.cli.watching import Watchers
    from evoenv.run import advance, prepare
    from evoenv.stages.budget import is_finished
    from evoenv.writers import MetricWriters

    with ExitStack() as stack:
        with screen.status("entering the first environments …") if screen.is_terminal else ExitStack():
            run = stack.enter_context(prepare(store, config, *ports, training=training))
        writers = MetricWriters(config.run.writers, store)
        stack.callback(writers.close)
        view = open_view(store, config, command, screen, plain=plain, trains=training)
        stack.callback(view.close)
        if hasattr(view, "meter"):
            view.meter = lambda: meter(run)
        else:
            screen.print(f"the run is in {store.directory}", markup=False, soft_wrap=True)
        run.observer = Watchers([view, writers])
        exhausted: BudgetExhausted | None = None
        with stopping(run.stop, view, minutes) as reasons:
            try:
                advance(run)
            except BudgetExhausted as error:
                exhausted = error
        view.close()
        finished = is_finished(store, config)
        if not finished:
            where = resume_command(command, store.directory)
            if exhausted is not None:
                screen.print(f"{exhausted}\nraise the budget and continue: {where}", markup=False, soft_wrap=True)
            elif reasons:
                screen.print(f"stopped after {last_event(store)}; continue: {where}", markup=False, soft_wrap=True)
        return INTERRUPTED if not finished and reasons and reasons[0] == "interrupted" else 0


def resume_command(command: str, directory: Path) -> str:
    return f"evoenv {command} --run {shlex.quote(str(directory))} --resume"


def last_event(store: Store) -> str:
    """The last stage that is done, in words."""
    from evoenv.store.store import STAGES

    step = store.last_step() + 1
    done = [stage for stage in STAGES if store.stage_done(step, stage)]
    return f"stage '{done[-1]}' of step {step}" if done else f"step {step - 1}"
