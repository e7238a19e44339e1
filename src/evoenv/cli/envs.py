"""`evoenv envs`: list environments: the ten seeds, or those of a run."""

from __future__ import annotations

import argparse
import ast
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from evoenv.cli.common import add_json_option, console, print_json, visible
from evoenv.environment.files import short
from evoenv.environment.seeds import SEED_NAMES, seed_source
from evoenv.errors import InputError
from evoenv.records import environment_id
from evoenv.store.store import Store


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = __doc__
    parser.add_argument(
        "--run", dest="run_directory", type=Path, metavar="DIR", help="a run's environments instead of the seeds"
    )
    add_json_option(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    rows = run_rows(arguments.run_directory) if arguments.run_directory else seed_rows()
    if arguments.json:
        print_json(rows)
        return 0
    table = Table(box=None, header_style="bold", pad_edge=False)
    columns = list(rows[0]) if rows else []
    for column in columns:
        table.add_column(column, style="dim" if column == "id" else "", no_wrap=column != "task")
    for row in rows:
        table.add_row(*(Text(visible(str(row[column]))) for column in columns))  # as text: names are no markup
    console().print(table if rows else "no environments")
    return 0


def seed_rows() -> list[dict[str, Any]]:
    rows = []
    for name in SEED_NAMES:
        source = seed_source(name)
        rows.append({"id": environment_id(source), "name": name, "origin": "seed", "task": first_line(source)})
    return rows


def run_rows(directory: Path) -> list[dict[str, Any]]:
    """Return the environments of a run, in the order of their admission."""
    try:
        opened = Store.read(directory)
    except OSError as error:  # a name too long, say
        reason = error.strerror or error
        raise InputError(f"cannot read {short(directory)}: {reason}; give the folder of a run") from error
    with opened as store:
        brought = store.provenance()
        return [
            {
                "id": record.id,
                "name": record.name,
                "origin": str(brought[record.id]["origin"])
                if record.id in brought
                else ("seed" if record.original else f"step {record.admitted_step}"),
                "state": "active" if record.active else f"retired at step {record.retired_step}",
                "epochs": record.epochs,
                "task": ", ".join(sorted(record.tags)),
            }
            for record in store.environments()
        ]


def first_line(source: str) -> str:
    """Return the first line of the environment class's docstring."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef):
            return (ast.get_docstring(node) or "").partition("\n")[0]
    return ""
