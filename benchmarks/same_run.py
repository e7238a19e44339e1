"""Compare two run directories: do they hold the same run, but for times?

    python benchmarks/same_run.py BEFORE AFTER

Every table that both have is compared row by row, by its primary key and by the columns that both have; so are the
weights of the last checkpoint. Times (columns and metrics), the software's versions and the configuration are left out.
What only one of them has is named. Exit code 0 if all that both have agrees, 1 if not, 2 on misuse. Make both runs with
the same number of threads: sums differ otherwise.

What a newer version stores on purpose less or otherwise is said with --less TABLE: the rows of AFTER must then be
among those of BEFORE, and may be fewer.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sqlite3
import sys
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

TIMES = frozenset({"at", "seconds", "cpu_seconds"})
LEFT_OUT = {
    "meta": ("key", frozenset({"versions", "created", "config"})),
    "events": ("kind", frozenset({"run-created"})),  # names the schema
}
"""Rows that say which software made the run, when, or how it was configured: by table, the column and its values."""


class Table:
    """One table's rows by primary key, with only what may be compared."""

    def __init__(self, connection: sqlite3.Connection, name: str) -> None:
        self.name = name
        facts = connection.execute(f"PRAGMA table_info({name})").fetchall()
        self.columns = [str(fact[1]) for fact in facts]
        keys = sorted((fact[5], str(fact[1])) for fact in facts if fact[5])
        self.key = [column for _, column in keys]
        # An event's number depends on the order in which threads finish; its content is its identity.
        self.rows = [
            dict(zip(self.columns, row, strict=True)) for row in connection.execute(f"SELECT * FROM {name}").fetchall()
        ]

    def compared(self, columns: list[str]) -> dict[Any, list[tuple[Any, ...]]]:
        """Rows as plain values, by key."""
        rows: dict[Any, list[tuple[Any, ...]]] = {}
        for row in self.rows:
            if self._is_left_out(row):
                continue
            by = tuple(row[column] for column in self.key if column in columns) if self.name != "events" else ()
            rows.setdefault(by, []).append(tuple(plain(row[column]) for column in columns))
        return {key: sorted(values, key=repr) for key, values in rows.items()}

    def _is_left_out(self, row: Mapping[str, Any]) -> bool:
        if self.name == "metrics":
            return is_time(str(row["name"]))
        column, values = LEFT_OUT.get(self.name, ("", frozenset()))
        return bool(column) and row[column] in values


def is_time(metric: str) -> bool:
    return metric.startswith(("time/", "memory/")) or "per_second" in metric or "seconds" in metric


def plain(value: Any) -> Any:
    """Undo compression and JSON, and leave times out of what they hold."""
    if isinstance(value, bytes):
        try:
            value = zlib.decompress(value)
        except zlib.error:
            return value
    if isinstance(value, str | bytes):
        try:
            document = json.loads(value)
        except ValueError:
            return value
        return json.dumps(without_times(document), sort_keys=True)
    return value


def without_times(document: Any) -> Any:
    if isinstance(document, dict):
        return {
            key: without_times(value)
            for key, value in document.items()
            if key not in TIMES and not (isinstance(key, str) and is_time(key))
        }
    if isinstance(document, list):
        return [without_times(value) for value in document]
    return document


def tables(connection: sqlite3.Connection) -> dict[str, Table]:
    names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    return {name: Table(connection, name) for (name,) in names.fetchall()}


def differences(before: Table, after: Table, *, less: bool) -> Iterator[str]:
    """Say where the two differ, one line for each key."""
    columns = [column for column in before.columns if column in after.columns and column not in TIMES]
    if before.name == "events":
        columns.remove("id")
    old, new = before.compared(columns), after.compared(columns)
    for key in sorted({*old, *new}, key=repr):
        if key not in new:
            if not less:
                yield f"{key}: only before"
        elif key not in old:
            yield f"{key}: only after"
        elif old[key] != new[key]:
            for one, other in zip(old[key], new[key], strict=False):
                changed = [column for column, a, b in zip(columns, one, other, strict=True) if a != b]
                if changed:
                    yield f"{key}: {', '.join(changed)} differ"
                    break
            else:
                yield f"{key}: {len(old[key])} rows before, {len(new[key])} after"


def last_weights(directory: Path) -> str | None:
    """The SHA-256 of the newest checkpoint's weights, or None if the run has none."""
    weights = sorted((directory / "checkpoints").glob("*/*model.safetensors"))
    return hashlib.sha256(weights[-1].read_bytes()).hexdigest() if weights else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--less", action="append", default=[], metavar="TABLE", help="may hold fewer rows after")
    arguments = parser.parse_args()
    found = []
    for directory in (arguments.before, arguments.after):
        path = directory / "run.sqlite"
        if not path.is_file():
            print(f"{directory} holds no run: expected {path.name} in it", file=sys.stderr)
            return 2
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
        found.append(tables(connection))
        connection.close()
    old, new = found
    agree = True
    for name in sorted({*old, *new}):
        if name not in old or name not in new:
            only = "before" if name in old else "after"
            print(f"{name}: only {only} ({len((old if name in old else new)[name].rows)} rows)")
            continue
        lines = list(differences(old[name], new[name], less=name in arguments.less))
        extra = sorted(set(new[name].columns) ^ set(old[name].columns))
        columns = f"; columns of one alone: {', '.join(extra)}" if extra else ""
        verdict = f"{len(lines)} DIFFER" if lines else "agree"
        print(f"{name}: {len(old[name].rows)} rows before, {len(new[name].rows)} after: {verdict}{columns}")
        for line in lines[:5]:
            print(f"    {line}")
        agree = agree and not lines
    weights = [last_weights(directory) for directory in (arguments.before, arguments.after)]
    if any(weights):
        print(f"weights of the last checkpoint: {'agree' if weights[0] == weights[1] else 'DIFFER'}")
        agree = agree and weights[0] == weights[1]
    print("the same run" if agree else "NOT the same run")
    return 0 if agree else 1


if __name__ == "__main__":
    raise SystemExit(main())
