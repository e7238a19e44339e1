"""`trl`: rows for `GRPOTrainer`, a reward function, the environment-factory form, and a script that uses them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evoenv.exchange.export import Export
from evoenv.exchange.items import Item
from evoenv.exchange.scorer.carry import template
from evoenv.exchange.tables import write_lines


def write(export: Export) -> str:
    for split, items in export.items().items():
        write_lines(export.output / f"{split}.jsonl", trl_rows(items))
    for name in ("evoenv_trl.py", "train_grpo.py"):
        (export.output / name).write_text(template(f"trl_{name}"), "utf-8", newline="\n")
    export.write_scorer()
    return "train with: python {output}/train_grpo.py --model MODEL (or import evoenv_trl from your own script)"


def trl_rows(items: Sequence[Item]) -> list[dict[str, Any]]:
    """Return rows without answers.

    The reward is computed from the instance's name, so nothing that TRL handles can leak them.
    """
    return [
        {
            "prompt": [{"role": "user", "content": item.prompt}],
            "environment_id": item.environment_id,
            "seed": item.seed,
            "difficulty": item.difficulty,
            "name": item.name,
        }
        for item in items
    ]
