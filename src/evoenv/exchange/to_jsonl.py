"""`jsonl`: `train.jsonl` and `test.jsonl`, one instance per line, beside the standalone scorer."""

from __future__ import annotations

from evoenv.exchange.export import Export
from evoenv.exchange.tables import plain_rows, write_lines

ADVICE = (
    "in {output}, score with: import scorer; "
    "scorer.score(row['environment_id'], row['seed'], row['difficulty'], response)"
)


def write(export: Export) -> str:
    for split, items in export.items().items():
        write_lines(export.output / f"{split}.jsonl", plain_rows(items))
    export.write_scorer()
    return ADVICE
