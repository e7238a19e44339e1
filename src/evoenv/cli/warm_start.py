"""`evoenv warm-start`: supervised training for a policy too weak for either role."""

from __future__ import annotations

import argparse
import json
import threading
import time
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evoenv.cli import driving
from evoenv.cli.common import console
from evoenv.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console
    from rich.progress import Progress as Bar

    from evoenv.sandbox.host import Sandbox
    from evoenv.warmstart.pairs import PairSource
    from evoenv.warmstart.process import Measure, Progress
    from evoenv.warmstart.recipe import Recipe

CORPUS = "corpus"
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
    parser.add_argument("--recipe", default="laptop", metavar="R", help="nano, laptop, or a TOML file (laptop)")
    parser.add_argument(
        "--set", dest="overrides", action="append", default=[], metavar="a.b=v", help="one setting; may be repeated"
    )
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="where it is done and kept")
    parser.add_argument("--resume", action="store_true", help="continue the warm start in -o")
    parser.add_argument("--minutes", type=float, metavar="M", help="stop cleanly after so many minutes")
    parser.add_argument("--no-abilities", action="store_true", help="measure losses only, not what the roles can do")
    parser.add_argument("--json", action="store_true", help="print the record as one JSON document at the end")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    driving.require_packages("numpy", "torch", "transformers")
    driving.check_minutes(arguments.minutes)
    from evoenv.config import Config
    from evoenv.warmstart.process import begin, begun
    from evoenv.warmstart.recipe import load_recipe

    directory: Path = arguments.output
    if arguments.resume:
        if arguments.model or arguments.corpus or arguments.from_run or arguments.overrides:
            raise InputError("a resumed warm start keeps its model, data and recipe; give -o and --resume alone")
        recipe, model, data = begun(directory)
    else:
        if not arguments.model:
            raise InputError("--model is missing: which model is to be taught? (`--model new` makes one from nothing)")
        if not arguments.corpus and arguments.from_run is None:
            raise InputError("say what to learn from: --corpus, or --from-run DIR")
        recipe = load_recipe(arguments.recipe, arguments.overrides)
        model, data = arguments.model, CORPUS if arguments.corpus else str(arguments.from_run.absolute())
    screen = console(stderr=True)
    with ExitStack() as stack:
        stack.enter_context(driving.logged(screen))
        sandbox = stack.enter_context(driving.open_sandbox(Config(), allow_degraded=False))
        stages = recipe.stages()  # a mistake in a later stage is no news after an hour

        @cache
        def source_of(number: int) -> PairSource:
            return _source(sandbox, stages[number], data)

        def prepare(number: int, bar: Bar, stop: threading.Event) -> tuple[PairSource, Measure | None] | None:
            source, *before = (source_of(stage) for stage in range(number, -1, -1))
            if not all(compose(one, bar, stop) for one in (source, *([] if arguments.no_abilities else before))):
                return None
            return source, None if arguments.no_abilities else _measure(sandbox, stages[number], source, before)

        if not arguments.resume:
            source_of(0)  # whatever is wrong with the data is said before a directory is made
            begin(directory, recipe, model, data)
        record = _learn(stack, screen, directory, recipe, model, prepare, arguments.minutes)
    if record is None:
        screen.print(f"stopped; continue: evoenv warm-start -o {directory} --resume", markup=False, soft_wrap=True)
        return driving.INTERRUPTED
    if arguments.json:
        print(json.dumps(json.loads((directory / "warm-start.json").read_text(encoding="utf-8")), indent=1))
    else:
        _show(record, directory)
    return 0


def _source(sandbox: Sandbox, recipe: Recipe, data: str) -> PairSource:
    """Where pairs come from."""
    from evoenv.warmstart.from_run import RunPairs
    from evoenv.warmstart.pairs import CorpusPairs

    if data == CORPUS:
        return CorpusPairs(recipe.data, recipe.seed)
    return RunPairs(Path(data), recipe.data, recipe.seed, sandbox)


def progress_bar(screen: Console) -> Bar:
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


def _measure(sandbox: Sandbox, recipe: Recipe, source: PairSource, before: list[PairSource]) -> Measure:
    """What measures abilities; what earlier stages showed counts as shown."""
    from evoenv.policy.local.policy import LocalPolicy
    from evoenv.warmstart.abilities import Abilities

    found = Abilities(recipe, source, sandbox, before=before)

    def measure(model: Any, tokenizer: Any, tokens: int) -> dict[str, Any]:
        model.eval()
        return found.measure(LocalPolicy(model, tokenizer))

    return measure


def _learn(
    stack: ExitStack,
    screen: Console,
    directory: Path,
    recipe: Recipe,
    model: str,
    prepare: Callable[[int, Bar, threading.Event], tuple[PairSource, Measure | None] | None],
    minutes: float | None,
) -> dict[str, Any] | None:
    from evoenv.warmstart.process import warm_start_in_stages

    bar = stack.enter_context(progress_bar(screen))
    task = bar.add_task("tokens", total=recipe.learn.tokens, facts="")

    said = time.monotonic()

    def watch(told: Progress) -> None:
        nonlocal said
        facts = f"loss {told.loss:.3f}  {told.tokens_per_second:,.0f} tokens/s"
        bar.update(task, completed=told.tokens, total=told.total, facts=facts)
        if told.held_out:
            screen.print(check_line(told), markup=False, soft_wrap=True)
        elif not screen.is_terminal and time.monotonic() - said > PLAIN_SECONDS:
            said = time.monotonic()
            screen.print(f"{told.tokens:,} of {told.total:,} tokens  {facts}", markup=False, soft_wrap=True)

    stop = threading.Event()

    class View:
        def stopping(self, text: str) -> None:
            screen.print(text, markup=False)

        def close(self) -> None:
            bar.stop()

    stack.enter_context(driving.stopping(stop, View(), minutes))  # type: ignore[arg-type]
    return warm_start_in_stages(
        directory, recipe, model, lambda number: prepare(number, bar, stop), watch=watch, stop=stop
    )


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
            else:
                shown = f"{value:.1%}" if isinstance(value, float) else str(value)
            rows.append((f"{role}: {name.replace('_', ' ')}", shown))
    return rows
