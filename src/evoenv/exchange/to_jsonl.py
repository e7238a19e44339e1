"""`jsonl`: `train.jsonl` and `test.jsonl`, one instance per line, beside the standalone scorer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evoenv.exchange.export import Export
from evoenv.exchange.tables import plain_rows

ADVICE = (
    "in {output}, score with: import scorer; "
    "scorer.score(row['environment_id'], row['seed'], row['difficulty'], response)"
)


def write(export: Export) -> str:
    for split, items in export.items().items():
        write_lines(plain_rows(items), export.output / f"{split}.jsonl")
    export.write_scorer()
    return ADVICE


def write_lines(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as stream:
        for row in rows:
            stream.write(json.dumps(row, ensure_ascii=False) + "\n")
