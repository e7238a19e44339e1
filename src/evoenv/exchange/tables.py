"""Rows as files of JSON lines and as Parquet."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import evoenv
from evoenv.exchange.items import Item


def plain_rows(items: Sequence[Item]) -> list[dict[str, Any]]:
    return [asdict(item) for item in items]


def write_lines(path: Path, rows: Iterable[object]) -> None:
    """Write JSON, one row to a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="\n") as stream:
        for row in rows:
            stream.write(json.dumps(row, ensure_ascii=False) + "\n")


def item_schema() -> Any:
    """Return the columns of an item, stated rather than guessed: a split without answers keeps its column of texts."""
    import pyarrow

    text, number = pyarrow.string(), pyarrow.int64()
    return pyarrow.schema(
        {
            "environment_id": text,
            "name": text,
            "seed": number,
            "difficulty": number,
            "prompt": text,
            "task": text,
            "reference": text,
            "answer": text,
        }
    )


def write_parquet(rows: Sequence[Mapping[str, Any]], path: Path, schema: Any) -> None:
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.Table.from_pylist([dict(row) for row in rows], schema=schema)
    table = table.replace_schema_metadata({"evoenv": evoenv.__version__})
    pyarrow.parquet.write_table(table, path, compression="zstd")
