"""`evoenv warm-start`: supervised training for a policy too weak for either role."""

from __future__ import annotations

import argparse
import json
import shlex
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evoenv.assembly import require_packages
from evoenv.cli import driving
from evoenv.cli.common import console, print_json
from evoenv.cli.exchanging import allowed_modules, progress_bar
from evoenv.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bar

    from evoenv.exchange.bundle import PoolEntry
    from evoenv.sandbox.host import Sandbox
    from evoenv.warmstart.pairs import PairSource
    from evoenv.warmstart.process import Measure, Progress
    from evoenv.warmstart.recipe import Recipe

CORPUS = "corpus"
DEFAULT_RECIPE = "laptop"
PLAIN_SECONDS = 30.0
"""How often a line says how far it is, where no bar can."""


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "warm-start",
        help="teach a weak model both roles, from the corpus or from a pool",
        description="Supervised training on pairs as the loop will ask them: generator prompt and environment, "
        "instance and answer, review and verdict. Ctrl-C stops cleanly; --resume continues bit for bit.",
    )
    parser.add_argument("--model", metavar="M", help="name, hub id or directory; `new` makes one from nothing")
    data = parser.add_mutually_exclusive_group()
    data.add_argument("--corpus", action="store_true", help="learn from the procedural author's train families")
    data.add_argument(
        "--from-run", type=Path, metavar="DIR", help="learn from a run's, or a packed pool's, environments"
    )
    parser.add_argument("--recipe", metavar="R", help=f"nano, laptop, or a TOML file ({DEFAULT_RECIPE})")
    parser.add_argument(
        "--set", dest="overrides", action="append", default=[], metavar="a.b=v", help="one setting; may be repeated"
    )
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="where it is done and kept")
    parser.add_argument("--resume", action="store_true", help="continue the warm start in -o")
    parser.add_argument("--minutes", type=float, metavar="M", help="stop cleanly after so many minutes")
    parser.add_argument("--no-abilities", action="store_true", help="measure losses only, not what the roles can do")
    parser.add_argument("--json", action="store_true", help="print the record as one JSON document at the end")
    parser.add_argument(
        "--allow-module", action="append", default=[], metavar="NAME",
        help="let environments of --from-run import this module too (trusted code only); may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--allow-degraded",
        action="store_true",
        help="run even where the kernel's isolation is incomplete (trusted models only)",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    require_packages("numpy", "torch", "transformers")
    driving.check_minutes(arguments.minutes)
    from evoenv.warmstart.process import begin, begun, check_free, check_model, warm_start_in_stages
    from evoenv.warmstart.recipe import load_recipe

    directory: Path = arguments.output
    if arguments.resume:
        if arguments.model or arguments.corpus or arguments.from_run or arguments.overrides or arguments.recipe:
            raise InputError("a resumed warm start keeps its model, data and recipe; give -o and --resume alone")
        recipe, model, data = begun(directory)
    else:
        if not arguments.model:
            raise InputError("--model is missing: which model is to be taught? (`--model new` makes one from nothing)")
        if not arguments.corpus and arguments.from_run is None:
            raise InputError("say what to learn from: --corpus, or --from-run DIR")
        recipe = load_recipe(arguments.recipe or DEFAULT_RECIPE, arguments.overrides)
        model, data = arguments.model, CORPUS if arguments.corpus else str(arguments.from_run.absolute())
        check_free(directory)
        check_model(model, data == CORPUS)
    stages = recipe.stages()  # a mistake in a later stage is no news after an hour
    screen = console(stderr=True)
    with ExitStack() as stack:
        stack.enter_context(driving.logged(screen))
        modules = allowed_modules(arguments)
        found = stack.enter_context(_open_data(data, modules, allow_degraded=arguments.allow_degraded))

        @cache
        def source_of(number: int) -> PairSource:
            return found.source(stages[number])

        if not arguments.resume:
            source_of(0)  # whatever is wrong with the data is said before a directory is made
            begin(directory, recipe, model, data)
        view = View(screen, recipe.learn.tokens)
        stack.callback(view.close)

        def prepare(number: int) -> tuple[PairSource, Measure | None] | None:
            needed = range(number, -1, -1) if not arguments.no_abilities else [number]
            source, *before = (source_of(stage) for stage in needed)
            if not all(compose(one, view.bar, view.stop) for one in (source, *before)):
                return None
            view.preparing()
            if arguments.no_abilities:
                return source, None
            return source, _measure(found.sandbox, stages[number], source, before, view.measuring)

        lost = "what was learnt since the last checkpoint, two minutes at most"
        with driving.stopping(view.stop, view, arguments.minutes, what="step", lost=lost) as reasons:
            record = warm_start_in_stages(directory, recipe, model, prepare, watch=view.watch, stop=view.stop)
    if record is None:
        where = shlex.quote(str(directory))
        screen.print(f"stopped; continue: evoenv warm-start -o {where} --resume", markup=False, soft_wrap=True)
        return driving.INTERRUPTED if reasons and reasons[0] == "interrupted" else 0
    if arguments.json:
        print_json(json.loads((directory / "warm-start.json").read_text(encoding="utf-8")))
    else:
        _show(record, directory)
    return 0


# --------------------------------------------------------------------------- what it learns from


@dataclass
class Data:
    """Where pairs come from, with a sandbox that has the modules they need."""

    sandbox: Sandbox
    path: Path | None
    """None for the corpus."""
    usable: Sequence[PoolEntry] = ()
    refused: int = 0

    def source(self, recipe: Recipe) -> PairSource:
        from evoenv.warmstart.from_run import RunPairs
        from evoenv.warmstart.pairs import CorpusPairs

        if self.path is None:
            return CorpusPairs(recipe.data, recipe.seed)
        return RunPairs(self.path, recipe.data, recipe.seed, self.sandbox, self.usable, refused=self.refused)


@contextmanager
def _open_data(data: str, modules: tuple[str, ...], *, allow_degraded: bool) -> Iterator[Data]:
    from evoenv.assembly import open_sandbox

    if data == CORPUS:
        with open_sandbox(allow_degraded=allow_degraded) as sandbox:
            yield Data(sandbox, None)
        return
    from evoenv.exchange.bundle import modules_of
    from evoenv.warmstart.from_run import entries_of, still_valid

    path = Path(data)
    entries = entries_of(path, modules)
    with open_sandbox(allow_degraded=allow_degraded, modules=modules_of(entries)) as sandbox:
        with progress_bar("validating again", quiet=False) as progress:
            usable = still_valid(path, entries, sandbox, progress)
        yield Data(sandbox, path, usable, refused=len(entries) - len(usable))


def compose(source: PairSource, bar: Bar, stop: threading.Event | None = None) -> bool:
    """Compose what a corpus shows: a minute or two that can be watched. False where a stop was requested."""
    from evoenv.warmstart.pairs import CorpusPairs

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


def _measure(
    sandbox: Sandbox, recipe: Recipe, source: PairSource, before: list[PairSource], tell: Callable[[str], None]
) -> Measure:
    """What measures abilities; what earlier stages showed counts as shown."""
    from evoenv.assembly import policy_of
    from evoenv.warmstart.abilities import Abilities

    found = Abilities(recipe, source, sandbox, before=before)

    def measure(model: Any, tokenizer: Any, tokens: int) -> dict[str, Any]:
        model.eval()
        return found.measure(policy_of(model, tokenizer), tell)

    return measure


# --------------------------------------------------------------------------- what is seen of it


def open_bar(screen: Console) -> Bar:
    """Shows tasks that count, with a field `facts`; nothing where no terminal is."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

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
        """Before the first step: a tokenizer may have to be learnt, a model loaded, what was shown indexed."""
        self.bar.update(self._task, completed=0, facts="preparing model and data")

    def measuring(self, what: str) -> None:
        """Says what is measured next; here a stop is heard, too."""
        from evoenv.warmstart.process import Stopped

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
    """One line of what was measured."""
    losses = ", ".join(f"{role} {value:.3f}" for role, value in told.held_out.items())
    parts = [f"{told.tokens:,} tokens", f"held-out loss: {losses}"]
    if generator := told.abilities.get("generator"):
        parts.append(f"L5 {generator['reach_l5']:.0%} (new {generator['not_verbatim']:.0%})")
    for suite, result in told.abilities.get("solver", {}).items():
        parts.append(f"{suite} {result['accuracy']:.0%}")
    if reviewer := told.abilities.get("reviewer"):
        parts.append(f"review {reviewer['accuracy']:.0%}")
    return "; ".join(parts)


def _show(record: dict[str, Any], directory: Path) -> None:
    from rich.table import Table

    screen = console()
    last = record["checks"][-1]
    table = Table("measure", "value", title="after the warm start", title_justify="left")
    for role, value in last["held_out_loss"].items():
        table.add_row(f"held-out loss, {role}", f"{value:.3f}")
    for name, shown in ability_rows(last.get("abilities", {})):
        table.add_row(name, shown)
    screen.print(table)
    screen.print(f"the model: {directory / 'model'}", markup=False, soft_wrap=True)


def ability_rows(abilities: dict[str, Any]) -> list[tuple[str, str]]:
    """What was measured of each role, as words and numbers."""
    rows = []
    for role, values in abilities.items():
        for name, value in values.items():
            if isinstance(value, dict) and "accuracy" in value:
                shown = f"{value['accuracy']:.1%} ({value['low']:.1%} to {value['high']:.1%})"
                shown += f"; chance {value['chance']:.1%}" if "chance" in value else ""
            elif isinstance(value, dict):  # candidates by the layer that they reach
                shown = ", ".join(f"L{layer}: {count}" for layer, count in value.items())
            else:
                shown = f"{value:.1%}" if isinstance(value, float) else str(value)
            rows.append((f"{role}: {name.replace('_', ' ').replace('l5', 'L5')}", shown))
    return rows
