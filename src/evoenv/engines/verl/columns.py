"""A minibatch as verl's processes take it: jagged columns, one value per token of each whole sequence.

verl's log-probabilities are shifted: position t holds that of token t + 1. All columns of ours are laid out alike, so
that the loss multiplies them without knowing where a prompt ends. The weights of all tokens come from `objective`, so
no cut into micro-batches and no spread over ranks can change the sum.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from evoenv.objective import ResponseWeight, Row

SAMPLED = "sampled"
ADVANTAGES = "advantages"
WEIGHTS = "surrogate_weights"
KL_MEANS = "kl_means"
REFERENCE = "reference"


def sequence_length(row: Row) -> int:
    return len(row.prompt_ids) + len(row.response_ids)


def padded(rows: Sequence[Row], parts: int) -> list[Row]:
    """Add rows that weigh nothing until all divide into equal parts: verl insists on that."""
    shortest = min(rows, key=sequence_length)
    silent = Row(shortest.role, shortest.rollout, 0.0, ResponseWeight(0.0, 0.0, 0.0))
    return [*rows, *[silent] * (-len(rows) % parts)]


def columns_of(rows: Sequence[Row]) -> dict[str, Tensor]:
    """Build every column of a minibatch."""
    columns: dict[str, list[Tensor]] = {}

    def add(name: str, column: Tensor) -> None:
        columns.setdefault(name, []).append(column)

    for row in rows:
        length, first = sequence_length(row), len(row.prompt_ids) - 1
        span = slice(first, first + len(row.response_ids))
        mask = torch.zeros(length, dtype=torch.int64)
        mask[span] = 1
        sampled = torch.zeros(length)
        sampled[span] = torch.tensor(row.sampled, dtype=torch.float32)
        add("input_ids", torch.cat([_integers(row.prompt_ids), _integers(row.response_ids)]))
        add("position_ids", torch.arange(length))
        add("loss_mask", mask)
        add(SAMPLED, sampled)
        add(ADVANTAGES, mask * row.advantage)
        add(WEIGHTS, mask * row.weight.surrogate)
        add(KL_MEANS, mask * row.weight.kl_mean)
    jagged = {name: torch.nested.as_nested_tensor(parts, layout=torch.jagged) for name, parts in columns.items()}
    return {**jagged, "temperature": torch.tensor([row.temperature for row in rows], dtype=torch.float32)}


def _integers(values: array[int]) -> Tensor:
    return torch.frombuffer(values, dtype=torch.int32).to(torch.int64)


def of_responses(nested: Any, rows: Sequence[Row]) -> Tensor:
    """Cut the responses' values out of a jagged column over whole sequences, end to end.

    `rows` may be fewer than the column has: padding comes last.
    """
    values, offsets = nested.values(), nested.offsets().tolist()
    parts = [
        values[offset + len(row.prompt_ids) - 1 :][: len(row.response_ids)]
        for offset, row in zip(offsets, rows, strict=False)
    ]
    return torch.cat(parts).float()
