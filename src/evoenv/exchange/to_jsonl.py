"""`jsonl`: `train.jsonl` and `test.jsonl`, one instance per line, beside the standalone scorer."""

from __future__ import annotations

import json
from dataclasses import asdict

from evoenv.exchange.export import Export


def write(export: Export) -> str:
    for split, items in export.items().items():
        lines = [json.dumps(asdict(item), ensure_ascii=False) for item in items]
        (export.output / f"{split}.jsonl").write_text("".join(f"{line}\n" for line in lines), "utf-8", newline="\n")
    export.write_scorer()
    return "score with: import scorer; scorer.score(row['environment_id'], row['seed'], row['difficulty'], response)"
