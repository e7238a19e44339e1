"""What several commands share: printing JSON, consoles, progress bars, options of environments."""

from __future__ import annotations

import argparse
import json
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evoenv.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

_UNSAFE_IN_JSON = re.compile("[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""What JSON does not escape by itself and a terminal obeys, or an encoder cannot say."""
_OBEYED_CATEGORIES = ("Cc", "Cf", "Cs", "Zl", "Zp")

MAX_PARAMETER_DEPTH = 40
WIDEST_RANGE = 1000
"""Levels in one range: more are a slip of the finger."""


def print_json(document: Any) -> None:
    """Print one document on stdout and nothing else: valid in any encoding, and safe to look at on a terminal."""
    unicode = (sys.stdout.encoding or "utf-8").lower().startswith("utf")
    text = json.dumps(document, indent=2, ensure_ascii=not unicode)
    sys.stdout.write(_UNSAFE_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n")
    sys.stdout.flush()


def visible(text: str) -> str:
    """Make text from a candidate or a file name safe on a terminal: control characters are shown, not obeyed."""
    if text.isprintable():
        return text
    return "".join(
        char.encode("unicode_escape").decode()
        if char not in "\n\t" and unicodedata.category(char) in _OBEYED_CATEGORIES
        else char
        for char in text
    )


def console(stderr: bool = False) -> Console:
    from rich.console import Console

    return Console(stderr=stderr, highlight=False)


def parse_levels(text: str, flag: str = "--difficulties") -> tuple[int, ...]:
    """Read difficulty levels: `0,1,2` or `0-3`, or both, `0-2,5`; each once, in the order given."""
    levels: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*([0-9]{1,6})\s*(?:-\s*([0-9]{1,6})\s*)?", part, re.ASCII)
        low, high = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if not low <= high <= low + WIDEST_RANGE:
            raise InputError(
                f"{flag} is {text[:200]!r}; expected levels of 0 or more, the lower one of a range first, "
                "as 0,1,2 or 0-3"
            )
        levels += range(low, high + 1)
    return tuple(dict.fromkeys(levels))


def parse_parameters(text: str | None) -> list[dict[str, Any]] | None:
    """Parse `--parameters '[{"N": 3}, {"N": 5}]'`: one dict of knobs per difficulty level."""
    if text is None:
        return None
    try:
        levels = json.loads(text)
        if nesting(levels) > MAX_PARAMETER_DEPTH:
            raise RecursionError
    except ValueError as error:
        raise InputError(f"--parameters is not JSON ({error}); expected a list of dicts, one per level") from error
    except RecursionError:
        raise InputError(
            f"--parameters is nested deeper than {MAX_PARAMETER_DEPTH}; expected a list of dicts, one per level"
        ) from None
    if not isinstance(levels, list) or not levels or not all(isinstance(level, dict) for level in levels):
        raise InputError("--parameters must be a non-empty JSON list of objects, one per difficulty level")
    return levels


def nesting(value: Any) -> int:
    """Count containers within containers, of a JSON value."""
    depth, level = 0, [value]
    while level := [container for container in level if isinstance(container, (dict, list))]:
        depth += 1
        level = [
            inner for container in level for inner in (container.values() if isinstance(container, dict) else container)
        ]
    return depth


def add_json_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")


def add_allow_module(parser: argparse.ArgumentParser, who: str = "environments") -> None:
    parser.add_argument(
        "--allow-module",
        action="append",
        default=[],
        metavar="NAME",
        help=f"let {who} import this module too (trusted code only); may be repeated",
    )


def add_allow_degraded(parser: argparse.ArgumentParser, trusted: str = "code") -> None:
    parser.add_argument(
        "--allow-degraded",
        action="store_true",
        help=f"run even if the kernel's isolation is incomplete (trusted {trusted} only)",
    )


def add_environment_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--controller", type=Path, metavar="FILE", help="RLVE-Gym parameter controller of the environment"
    )
    parser.add_argument("--parameters", metavar="JSON", help="knobs of an RLVE-Gym environment: one dict per level")
    add_allow_degraded(parser)


PLAIN_SECONDS = 30.0
"""How often a line says how far long work is, where no bar can."""


@contextmanager
def progress_bar(what: str, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """Yield a function to call with how many are done of how many; the bar is seen only if somebody watches."""
    # rich is not loaded at the top: `evoenv --help` and `evoenv validate --help` start without it
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    screen = console(stderr=True)
    columns = TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=screen, transient=True, disable=quiet or not screen.is_terminal) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
