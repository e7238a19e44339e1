"""`parquet`: `train.parquet` and `test.parquet`, one instance per row, beside the standalone scorer."""

from __future__ import annotations

from evoenv.exchange.export import Export
from evoenv.exchange.tables import item_schema, plain_rows, write_parquet
from evoenv.exchange.to_jsonl import ADVICE


def write(export: Export) -> str:
    for split, items in export.items().items():
        write_parquet(plain_rows(items), export.output / f"{split}.parquet", item_schema())
    export.write_scorer()
    return ADVICE
