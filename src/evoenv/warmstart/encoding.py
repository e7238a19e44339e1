"""Pairs as rows of token ids, and batches of them: packed end to end, without padding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from evoenv.engines.local.prompts import encode_prompt
from evoenv.errors import InputError
from evoenv.objective import ResponseWeight, Row
from evoenv.records import Role, Rollout
from evoenv.warmstart.pairs import Pair, PairSource
from evoenv.warmstart.recipe import DataRecipe

UNWEIGHTED = ResponseWeight(1.0, 1.0, 0.0)
MANY_TOO_LONG = 200
"""This many pairs in a row over the limit mean that the limit, or the tokenizer, is wrong."""


def encode_pair(pair: Pair, tokenizer: Any, recipe: DataRecipe) -> Row | None:
    """Encode prompt and response as the loop's sampling would have met them, end token included; None if too long."""
    prompt = encode_prompt(tokenizer, pair.messages).token_ids
    response = (*tokenizer(pair.response, add_special_tokens=False)["input_ids"], tokenizer.eos_token_id)
    if len(prompt) + len(response) > recipe.max_tokens:
        return None
    if pair.role in recipe.learn_prompts:
        prompt, response = prompt[:1], (*prompt[1:], *response)
    role: Role = "reviewer" if pair.role == "programmer" else pair.role
    return Row(role, Rollout.of(prompt, response, (0.0,) * len(response)), 0.0, UNWEIGHTED)


@dataclass(frozen=True, slots=True)
class PairBatch:
    rows: tuple[Row, ...]
    next_index: int
    """Where the pairs of the next batch begin."""
    skipped: int

    @property
    def tokens(self) -> int:
        return sum(len(row.prompt_ids) + len(row.response_ids) for row in self.rows)


def batches(
    source: PairSource, tokenizer: Any, recipe: DataRecipe, batch_tokens: int, start: int
) -> Iterator[PairBatch]:
    """Yield batches without end, beginning with the pair number `start`."""
    index, skipped_in_a_row = start, 0
    while True:
        rows: list[Row] = []
        size = skipped = 0
        while size < batch_tokens:
            row = encode_pair(source.pair(index), tokenizer, recipe)
            index += 1
            if row is None:
                skipped += 1
                skipped_in_a_row += 1
                if skipped_in_a_row >= MANY_TOO_LONG:
                    raise InputError(
                        f"{MANY_TOO_LONG} pairs in a row are longer than data.max_tokens = {recipe.max_tokens}; "
                        "raise it, or use a tokenizer that suits code"
                    )
                continue
            skipped_in_a_row = 0
            rows.append(row)
            size += len(row.prompt_ids) + len(row.response_ids)
        yield PairBatch(tuple(rows), index, skipped)
