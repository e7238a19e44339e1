"""A part of a minibatch as verl's processes take it: jagged columns, one value per token of each whole sequence.

verl's log-probabilities are shifted: position t holds that of token t + 1. All columns of ours are laid out alike, so
that the loss multiplies them without knowing where a prompt ends. The weights of all tokens come from `objective`, so
no cut into micro-batches and no spread over ranks can change the sum.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
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
    return sum(row.rollout.lengths)


def parts_of(rows: Sequence[Row], devices: int, tokens: int) -> Iterator[list[Row]]:
    """Cut a minibatch into parts of about so many tokens; a part's devices get rows of like lengths, equally many.

    Each device takes one stretch of a part. Gradients add up over the parts: the driver holds one of them at a time.
    """
    part: list[Row] = []
    held = 0
    for row in sorted(rows, key=sequence_length, reverse=True):
        if part and held + sequence_length(row) > tokens:
            yield _dealt(part, devices)
            part, held = [], 0
        part.append(row)
        held += sequence_length(row)
    if part:
        yield _dealt(part, devices)


def _dealt(rows: Sequence[Row], devices: int) -> list[Row]:
    """Deal rows out like cards; return the stretches of all devices, one after the other."""
    stretch = -(-len(rows) // devices)
    positions = sorted(range(len(rows)), key=lambda position: (position % stretch, position))
    dealt = dict(zip(positions, rows, strict=True))
    return [dealt[position] for position in range(len(rows))]


def padded(rows: Sequence[Row], parts: int) -> list[Row]:
    """Add rows that weigh nothing until all divide into equal parts: verl insists on that."""
    shortest = min(rows, key=sequence_length)
    silent = Row(shortest.role, shortest.rollout, 0.0, ResponseWeight(0.0, 0.0, 0.0))
    return [*rows, *[silent] * (-len(rows) % parts)]


def columns_of(rows: Sequence[Row], old: OldLogprobs | None = None) -> dict[str, Tensor]:
    """Build every column of a part; that of the trainer's log-probabilities before the update only if given."""
    # Written in place, row by row.
    offsets = [0, *accumulate(map(sequence_length, rows))]
    whole = ("input_ids", "position_ids", "loss_mask")
    values = {name: torch.zeros(offsets[-1], dtype=torch.int64) for name in whole}
    responses = (SAMPLED, ADVANTAGES, WEIGHTS, KL_MEANS, *((OLD,) if old is not None else ()))
    values |= {name: torch.zeros(offsets[-1]) for name in responses}
    for row, begin, end in zip(rows, offsets, offsets[1:], strict=False):
        middle = begin + row.rollout.lengths[0]
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
        values[offset + prompt - 1 :][:response]
        for offset, (prompt, response) in zip(offsets, (row.rollout.lengths for row in rows), strict=False)
    ]
    return torch.cat(parts).float()
