"""`verl`: Parquet files with chat prompts and a reward file for `reward.custom_reward_function`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evoenv.exchange.export import Export
from evoenv.exchange.items import Item, Split
from evoenv.exchange.scorer.carry import template
from evoenv.exchange.tables import write_parquet

ADVICE = """\
train with: python -m verl.trainer.main_ppo data.train_files={output}/train.parquet \
data.val_files={output}/test.parquet reward.custom_reward_function.path={output}/compute_score.py …"""


def write(export: Export) -> str:
    for split, items in export.items().items():
        write_parquet(verl_rows(items, split), export.output / f"{split}.parquet", schema())
    (export.output / "compute_score.py").write_text(template("verl_compute_score.py"), "utf-8", newline="\n")
    export.write_scorer()
    return ADVICE


def verl_rows(items: Sequence[Item], split: Split) -> list[dict[str, Any]]:
    """Return rows with one `data_source` for each environment: verl groups its validation metrics by it."""
    return [
        {
            "data_source": f"evoenv/{item.name}",
            "prompt": [{"role": "user", "content": item.prompt}],
            "ability": "reasoning",
            "reward_model": {"style": "rule", "ground_truth": item.answer or item.reference},
            "extra_info": {
                "index": index,
                "split": split,
                "environment_id": item.environment_id,
                "seed": item.seed,
                "difficulty": item.difficulty,
            },
        }
        for index, item in enumerate(items)
    ]


def schema() -> Any:
    import pyarrow

    text, number = pyarrow.string(), pyarrow.int64()
    return pyarrow.schema(
        {
            "data_source": text,
            "prompt": pyarrow.list_(pyarrow.struct({"role": text, "content": text})),
            "ability": text,
            "reward_model": pyarrow.struct({"style": text, "ground_truth": text}),
            "extra_info": pyarrow.struct(
                {"index": number, "split": text, "environment_id": text, "seed": number, "difficulty": number}
            ),
        }
    )
