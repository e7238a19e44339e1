"""`evoenv warm-start`: supervised training for a policy too weak for either role."""

from __future__ import annotations

import argparse
import json
import shlex
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from evoenv.assembly import require_packages
from evoenv.cli import driving
from evoenv.cli.common import add_allow_degraded, add_allow_module, console, print_json, progress_bar
from evoenv.cli.warm_view import View, ability_rows, compose
from evoenv.errors import InputError
from evoenv.exchange.checking import allowed_modules
from evoenv.warmstart.data import CORPUS, measure_with, open_data
from evoenv.warmstart.pairs import PairSource
from evoenv.warmstart.recipe import load_recipe

if TYPE_CHECKING:
    from evoenv.warmstart.process import Measure

DEFAULT_RECIPE = "laptop"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Supervised training on pairs as the loop will ask them: generator prompt and environment, "
        "instance and answer, review and verdict, instances and program. Ctrl-C stops cleanly; --resume continues "
        "bit for bit."
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
    parser.add_argument("--minutes", type=float, metavar="M", help="stop cleanly after M minutes")
    parser.add_argument("--no-abilities", action="store_true", help="measure losses only, not what the roles can do")
    parser.add_argument("--json", action="store_true", help="print the record as one JSON document at the end")
    add_allow_module(parser, "environments of --from-run")
    add_allow_degraded(parser, trusted="models")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    require_packages("numpy", "torch", "transformers")
    driving.check_minutes(arguments.minutes)
    # torch: `evoenv warm-start --help` does not wait for it
    from evoenv.warmstart.process import begin, begun, check_free, check_model, warm_start_in_stages

    directory: Path = arguments.output
    if arguments.resume:
        if arguments.model or arguments.corpus or arguments.from_run or arguments.overrides or arguments.recipe:
            raise InputError("a resumed warm start keeps its model, data and recipe; give -o and --resume alone")
        recipe, model, data, modules = begun(directory)
    else:
        if not arguments.model:
            raise InputError("--model is missing: which model is to be taught? (`--model new` makes one from nothing)")
        if not arguments.corpus and arguments.from_run is None:
            raise InputError("say what to learn from: --corpus, or --from-run DIR")
        recipe = load_recipe(arguments.recipe or DEFAULT_RECIPE, arguments.overrides)
        model, data = arguments.model, CORPUS if arguments.corpus else str(arguments.from_run.absolute())
        modules = []
        check_free(directory)
        check_model(model, data == CORPUS)
    modules = list(dict.fromkeys([*modules, *arguments.allow_module]))
    stages = recipe.stages()  # a mistake in a later stage is no news after an hour
    screen = console(stderr=True)
    with ExitStack() as stack:
        stack.enter_context(driving.logged(screen))
        opened = stack.enter_context(
            open_data(
                data,
                allowed_modules(modules),
                allow_degraded=arguments.allow_degraded,
                progress=lambda: progress_bar("validating again", quiet=False),
            )
        )

        @cache
        def source_of(number: int) -> PairSource:
            return opened.source(stages[number])

        if not arguments.resume:
            source_of(0)  # whatever is wrong with the data is said before a directory is made
            begin(directory, recipe, model, data, modules)
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
            return source, measure_with(opened.sandbox, stages[number], source, before, view.measuring)

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
        show(record, directory)
    return 0


def show(record: dict[str, Any], directory: Path) -> None:
    screen = console()
    last = record["checks"][-1]
    table = Table("measure", "value", title="after the warm start", title_justify="left")
    for role, loss in last["held_out_loss"].items():
        table.add_row(f"held-out loss, {role}", f"{loss:.3f}")
    for name, value in ability_rows(last.get("abilities", {})):
        table.add_row(name, value)
    screen.print(table)
    screen.print(f"the model: {directory / 'model'}", markup=False, soft_wrap=True)
