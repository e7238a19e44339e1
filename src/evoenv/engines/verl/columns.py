"""A minibatch as verl's processes take it: jagged columns, one value per token of each whole sequence.

verl's log-probabilities are shifted: position t holds that of token t + 1. All columns of ours are laid out alike, so
that the loss multiplies them without knowing where a prompt ends. The weights of all tokens come from `objective`, so
no cut into micro-batches and no spread over ranks can change the sum.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor

from evoenv.objective import ResponseWeight, Row
from evoenv.training.tally import OldLogprobs, as_tensor

SAMPLED = "sampled"
ADVANTAGES = "advantages"
WEIGHTS = "surrogate_weights"
KL_MEANS = "kl_means"
REFERENCE = "reference"
OLD = "old"


def sequence_length(row: Row) -> int:
    return len(row.prompt_ids) + len(row.response_ids)


def padded(rows: Sequence[Row], parts: int) -> list[Row]:
    """Add rows that weigh nothing until all divide into equal parts: verl insists on that."""
    shortest = min(rows, key=sequence_length)
    silent = Row(shortest.role, shortest.rollout, 0.0, ResponseWeight(0.0, 0.0, 0.0))
    return [*rows, *[silent] * (-len(rows) % parts)]


def columns_of(rows: Sequence[Row], old: OldLogprobs | None = None) -> dict[str, Tensor]:
    """Build every column of a minibatch; that of the trainer's log-probabilities before the update only if given."""
    # Written in place, row by row: a step may have millions of tokens, and this is all that the driver holds of them.
    offsets = [0, *accumulate(map(sequence_length, rows))]
    whole = ("input_ids", "position_ids", "loss_mask")
    values = {name: torch.zeros(offsets[-1], dtype=torch.int64) for name in whole}
    responses = (SAMPLED, ADVANTAGES, WEIGHTS, KL_MEANS, *((OLD,) if old is not None else ()))
    values |= {name: torch.zeros(offsets[-1]) for name in responses}
    for row, begin, end in zip(rows, offsets, offsets[1:], strict=False):
        middle = begin + len(row.prompt_ids)
        span = slice(middle - 1, end - 1)
        values["input_ids"][begin:middle] = _integers(row.prompt_ids)
        values["input_ids"][middle:end] = _integers(row.response_ids)
        values["position_ids"][begin:end] = torch.arange(end - begin)
        values["loss_mask"][span] = 1
        values[SAMPLED][span] = as_tensor(row.sampled).float()
        values[ADVANTAGES][span] = row.advantage
        values[WEIGHTS][span] = row.weight.surrogate
        values[KL_MEANS][span] = row.weight.kl_mean
        if old is not None:
            values[OLD][span] = old[row]
    ends = torch.tensor(offsets)
    jagged = {name: torch.nested.nested_tensor_from_jagged(column, ends) for name, column in values.items()}
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
