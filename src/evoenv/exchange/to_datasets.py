"""`datasets`: a folder for `datasets.load_dataset` and the hub: Parquet splits, a card, and the standalone scorer."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence

import evoenv
from evoenv.exchange.bundle import PoolEntry
from evoenv.exchange.export import Export
from evoenv.exchange.items import Item, Split
from evoenv.exchange.tables import item_schema, plain_rows, write_parquet

SPDX_ON_THE_HUB = {
    "Apache-2.0": "apache-2.0",
    "MIT": "mit",
    "BSD-2-Clause": "bsd-2-clause",
    "BSD-3-Clause": "bsd-3-clause",
    "CC-BY-4.0": "cc-by-4.0",
    "CC-BY-SA-4.0": "cc-by-sa-4.0",
    "CC0-1.0": "cc0-1.0",
    "GPL-3.0": "gpl-3.0",
    "MPL-2.0": "mpl-2.0",
    "Unlicense": "unlicense",
}

CARD = """\
---
pretty_name: {title}
license: {licence}
language:
- en
task_categories:
- text-generation
tags:
- reinforcement-learning
- reasoning
- verifiable-rewards
- evoenv
size_categories:
- {size}
configs:
- config_name: default
  data_files:
  - split: train
    path: data/train.parquet
  - split: test
    path: data/test.parquet
---

# {title}

{count} instances of {environments} verifiable reasoning environments, written by EvoEnv {version}. Every environment
passed EvoEnv's five validation layers; no prompt occurs twice, so the splits do not overlap.

| column | meaning |
|---|---|
| `environment_id`, `name` | which environment: the hash of its source, and its class |
| `seed`, `difficulty` | which of its instances; the scorer makes it again from these |
| `prompt` | what a model is to be shown: the task, and how to mark the final answer |
| `task` | the task alone |
| `reference` | the reference answer as JSON. Not for the model |
| `answer` | the reference as a text that scores 1, where there is one. Not for the model |

Compare answers with the scorer, not with `answer`: many tasks have several right answers, some give partial credit.
`scorer/` needs Python 3.11 on Linux and nothing else; it runs the environments (a language model may have written
them) in a sandbox.

```python
import scorer  # from inside this folder

scorer.score(row["environment_id"], row["seed"], row["difficulty"], "… <answer>42</answer>")  # 0.0 to 1.0
```

The scorer also makes instances that are not in the tables: any seed, any difficulty.

## Environments

| name | id | train | test | scorer | licence | origin |
|---|---|---|---|---|---|---|
{rows}

Sources, hashes and validation reports: `scorer/manifest.json` and `scorer/environments/`.
"""


def write(export: Export) -> str:
    drawn = export.items()
    (export.output / "data").mkdir()
    for split, items in drawn.items():
        write_parquet(plain_rows(items), export.output / "data" / f"{split}.parquet", item_schema())
    (export.output / "README.md").write_text(card(export, drawn), "utf-8", newline="\n")
    export.write_scorer()
    return (
        "load with: datasets.load_dataset('{output}'); put on the hub with: hf upload NAME {output} --repo-type dataset"
    )


def card(export: Export, drawn: Mapping[Split, Sequence[Item]]) -> str:
    count = sum(len(items) for items in drawn.values())
    counts = {split: Counter(item.environment_id for item in items) for split, items in drawn.items()}
    return CARD.format(
        title=json.dumps(export.name)[1:-1],
        licence=hub_licence(export.entries),
        size=size_category(count),
        count=f"{count:,}",
        environments=len(export.entries),
        version=evoenv.__version__,
        rows="\n".join(
            f"| {cell(entry.name)} | `{entry.id}` | {counts['train'][entry.id]} | {counts['test'][entry.id]} "
            f"| {cell(entry.report.family or '')} | {cell(entry.licence or 'unknown')} | {cell(entry.origin)} |"
            for entry in export.entries
        ),
    )


def hub_licence(entries: Sequence[PoolEntry]) -> str:
    """Return the licence's name if all agree and the hub knows it; else `other`, and the table says which."""
    licences = {entry.licence for entry in entries}
    only = licences.pop()
    if licences:
        return "other"
    return "unknown" if only is None else SPDX_ON_THE_HUB.get(only, "other")


def size_category(count: int) -> str:
    """Return the hub's class of size."""
    steps = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
    return next((name for limit, name in steps if count < limit), "1M<n<10M")


def cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
