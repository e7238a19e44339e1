"""What `export`, `import` and `pool` share."""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from evoenv.cli.common import console
from evoenv.errors import InputError
from evoenv.records import Finding


def add_trust_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--trust", action="store_true", help="believe the verdicts stamped on a packed pool instead of validating again"
    )
    parser.add_argument(
        "--allow-module",
        action="append",
        default=[],
        metavar="NAME",
        help="let environments import this module too (trusted code only); may be repeated",
    )
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    parser.add_argument(
        "--allow-degraded",
        action="store_true",
        help="run even where the kernel's isolation is incomplete (trusted code only)",
    )


def allowed_modules(arguments: argparse.Namespace) -> tuple[str, ...]:
    """The modules allowed by name, each of which must be installed."""
    for name in arguments.allow_module:
        if not name.isidentifier():
            raise InputError(f"--allow-module is {name!r}; expected the name of a top-level module, such as numpy")
        if name not in sys.stdlib_module_names and importlib.util.find_spec(name) is None:
            raise InputError(f"--allow-module {name}: there is no such module here; install it first")
    return tuple(dict.fromkeys(arguments.allow_module))


def hint_for(finding: Finding) -> str:
    """An import beyond the allow-list has another way out here than in a generator's response."""
    module = finding.message.rpartition("imports ")[2].partition(".")[0]
    if finding.code != "L1.import" or not module:
        return finding.hint
    return f"if you trust the code, allow it by name: --allow-module {module}"


@contextmanager
def progress_bar(what: str, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """Called with how many are done of how many; seen only where somebody watches."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    screen = console(stderr=True)
    columns = TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=screen, transient=True, disable=quiet or not screen.is_terminal) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
