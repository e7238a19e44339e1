"""Keys and values of the rows being decoded, and the attention that reads them.

A *cohort* is a set of rows that were admitted together: some prompts, each with the drafts that continue it. Two
facts make its attention cheap:

- the prompt's keys and values are stored once, however many drafts share them, and all those drafts' queries meet
  them in one product;
- its drafts all began at the same step, so their own keys and values have equal lengths: no padding, no mask.

A row is one text, not one draft: drafts of a prompt that have drawn the same tokens so far share a row, which is
computed once, and part where they draw different ones. Rows that finish leave at once (the last row takes their place),
so nothing is computed for them. The model's own
forward runs over the rows of all cohorts together; only attention and cache are ours, plugged into transformers'
attention interface, which is what makes this work for any architecture that calls it (small Llamas have a shorter way,
`lean`). `selfcheck` compares both ways on the model at hand before they are relied on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
from torch import Tensor
from transformers import AttentionInterface
from transformers.cache_utils import Cache

from evoenv.engines.local.draft import Draft

NAME = "evoenv_cohorts"
_UNSUPPORTED = ("position_bias", "s_aux", "head_mask")
_GROWTH = 1.5
_BLOCK = 64


class Cohort:
    """Rows in step: per layer the prompts' keys (prompts, heads, P, D) and the rows' own (rows, heads, capacity, D)."""

    def __init__(
        self,
        prefix: Sequence[tuple[Tensor, Tensor]],
        prefix_lengths: Sequence[int],
        members: Sequence[list[Draft]],
        owners: Sequence[int],
        capacity: int,
    ) -> None:
        self.prefix = list(prefix)
        self.prefix_lengths = list(prefix_lengths)
        self.members = list(members)
        """The drafts of each row: of one prompt, with the same tokens so far."""
        self.owners = list(owners)
        """The prompt of each row."""
        self.length = 0
        """Tokens that each row has added to its prompt in the cache."""
        self.capacity = capacity
        room = self.drafts  # all may part
        self.own = [
            (
                keys.new_empty(room, keys.shape[1], capacity, keys.shape[3]),
                values.new_empty(room, values.shape[1], capacity, values.shape[3]),
            )
            for keys, values in self.prefix
        ]
        self.regroup([[drafts] for drafts in self.members])  # drops prompts whose drafts ended with their first token

    @property
    def rows(self) -> int:
        return len(self.members)

    @property
    def drafts(self) -> int:
        return sum(map(len, self.members))

    @property
    def tokens(self) -> int:
        """Cache columns held, used or not: what the budget counts."""
        keys = self.prefix[0][0]
        return keys.shape[0] * keys.shape[2] + self.own[0][0].shape[0] * self.capacity

    def positions(self) -> list[int]:
        return [self.prefix_lengths[owner] + self.length for owner in self.owners]

    # ------------------------------------------------------------------ membership

    def _index(self) -> None:
        """Lay the rows out by prompt: row r is query number `_places[r]` of a (prompts × most rows) grid."""
        device = self.prefix[0][0].device
        counts = [0] * len(self.prefix_lengths)
        places = []
        for owner in self.owners:
            places.append((owner, counts[owner]))
            counts[owner] += 1
        self._most = max(counts)
        flat = [owner * self._most + rank for owner, rank in places]
        self._in_order = flat == list(range(len(counts) * self._most))
        self._places = torch.tensor(flat, device=device)
        filled = [0] * (len(counts) * self._most)  # where no row belongs, any will do: nobody reads the result
        for row, place in enumerate(flat):
            filled[place] = row
        self._rows_by_place = torch.tensor(filled, device=device)
        longest = self.prefix[0][0].shape[2]
        self._lengths = torch.tensor([self.prefix_lengths[owner] for owner in self.owners], device=device)
        self._ragged = any(self.prefix_lengths[owner] < longest for owner in self.owners)
        self._masks: dict[tuple[int, int | None], Tensor] = {}

    def regroup(self, parts: Sequence[Sequence[list[Draft]]]) -> None:
        """Take what has become of each row: its drafts that go on, by the token that they drew; none if all have ended.

        One part stays where it is; the others get copies of the row, first in the gaps of rows that have ended. The
        last rows move into the gaps that remain. So no more is copied than has to be.
        """
        members = [own[0] if own else None for own in parts]
        owners = list(self.owners)
        gaps = deque(row for row, own in enumerate(parts) if not own)
        copies: list[tuple[int, int]] = []
        for source, own in enumerate(parts):
            for drafts in own[1:]:
                if gaps:
                    target = gaps.popleft()
                    members[target], owners[target] = drafts, owners[source]
                else:
                    target = len(members)
                    members.append(drafts)
                    owners.append(owners[source])
                copies.append((target, source))
        while gaps:
            last = len(members) - 1
            if gaps[-1] == last:
                gaps.pop()
            else:
                target = gaps.popleft()
                members[target], owners[target] = members[last], owners[last]
                copies.append((target, last))
            members.pop()
            owners.pop()
        self._copy(copies)
        self.members = [drafts for drafts in members if drafts]
        self.owners = owners
        if not self.members:
            return
        for prompt in sorted(set(range(len(self.prefix_lengths))) - set(self.owners), reverse=True):
            self._remove_prompt(prompt)
        # Give memory back only when half of it is idle: each byte is then copied at most twice.
        prompts = len(self.prefix_lengths)
        if 2 * prompts <= self.prefix[0][0].shape[0]:
            self.prefix = [(keys[:prompts].clone(), values[:prompts].clone()) for keys, values in self.prefix]
        if 2 * self.drafts <= self.own[0][0].shape[0]:
            self._reallocate(self.capacity)
        self._index()

    def _copy(self, copies: Sequence[tuple[int, int]]) -> None:
        """Copy rows, given as (to, from); no row is both."""
        if not copies or not self.length:
            return
        device = self.own[0][0].device
        to, source = (torch.tensor(rows, device=device) for rows in zip(*copies, strict=True))
        for pair in self.own:
            for tensor in pair:
                tensor[to, :, : self.length] = tensor[source, :, : self.length]

    def _remove_prompt(self, prompt: int) -> None:
        last = len(self.prefix_lengths) - 1
        if prompt != last:
            for keys, values in self.prefix:
                keys[prompt] = keys[last]
                values[prompt] = values[last]
            self.prefix_lengths[prompt] = self.prefix_lengths[last]
            self.owners = [prompt if owner == last else owner for owner in self.owners]
        self.prefix_lengths.pop()

    # ------------------------------------------------------------------ growth

    def next_capacity(self) -> int:
        """Return what the rows need for one more token: the present capacity, or the next step of growth."""
        if self.length < self.capacity:
            return self.capacity
        most = self.length + max(draft.remaining for drafts in self.members for draft in drafts)
        grown = int(self.capacity * _GROWTH) // _BLOCK * _BLOCK + _BLOCK
        return max(self.length + 1, min(grown, most))

    def growth(self) -> int:
        return (self.next_capacity() - self.capacity) * self.own[0][0].shape[0]

    def grow(self) -> None:
        capacity = self.next_capacity()
        if capacity != self.capacity:
            self._reallocate(capacity)
            self.capacity = capacity

    def _reallocate(self, capacity: int) -> None:
        used, rows, room = self.length, self.rows, self.drafts
        for layer, pair in enumerate(self.own):
            fresh = []
            for old in pair:
                new = old.new_empty(room, old.shape[1], capacity, old.shape[3])
                new[:rows, :, :used] = old[:rows, :, :used]
                fresh.append(new)
            self.own[layer] = (fresh[0], fresh[1])

    # ------------------------------------------------------------------ one layer's work

    def append(self, layer: int, keys: Tensor, values: Tensor) -> None:
        """Store the keys and values of one new token per row, each (rows, heads, 1, D)."""
        own_keys, own_values = self.own[layer]
        own_keys[: self.rows, :, self.length] = keys[:, :, 0]
        own_values[: self.rows, :, self.length] = values[:, :, 0]

    def attend(self, layer: int, query: Tensor, scaling: float, window: int | None, softcap: float | None) -> Tensor:
        """Attend for one new token per row; query heads are grouped by their key head (rows, key heads, group, D)."""
        rows, _, group, _ = query.shape
        used = self.length + 1
        prompts = len(self.prefix_lengths)
        prefix_keys, prefix_values = (tensor[:prompts] for tensor in self.prefix[layer])
        own_keys, own_values = (tensor[:rows, :, :used] for tensor in self.own[layer])
        longest = prefix_keys.shape[2]

        query = query * scaling
        to_prefix = self._from_grid(torch.matmul(self._to_grid(query), prefix_keys.transpose(2, 3)), group)
        to_own = torch.matmul(query, own_keys.transpose(2, 3))
        scores = torch.cat([to_prefix, to_own], dim=-1)
        if softcap is not None:
            scores = torch.tanh(scores / softcap) * softcap
        if self._ragged or window is not None:
            scores += self._mask(longest, used, window, scores)
        weights = torch.softmax(scores, dim=-1, dtype=torch.float32).to(query.dtype)
        from_prefix = torch.matmul(self._to_grid(weights[..., :longest]), prefix_values)
        return self._from_grid(from_prefix, group) + torch.matmul(weights[..., longest:], own_values)

    def _to_grid(self, values: Tensor) -> Tensor:
        """Lay (rows, heads, group, X) out as (prompts, heads, most rows of a prompt × group, X)."""
        _, heads, group, size = values.shape
        prompts = len(self.prefix_lengths)
        if self._most == 1 and self._in_order:
            return values
        if not self._in_order:
            values = values.index_select(0, self._rows_by_place)
        grid = values.view(prompts, self._most, heads, group, size).transpose(1, 2)
        return grid.reshape(prompts, heads, self._most * group, size)

    def _from_grid(self, grid: Tensor, group: int) -> Tensor:
        prompts, heads, _, size = grid.shape
        if self._most == 1 and self._in_order:
            return grid
        rows = grid.view(prompts, heads, self._most, group, size).transpose(1, 2)
        rows = rows.reshape(prompts * self._most, heads, group, size)
        return rows if self._in_order else rows.index_select(0, self._places)

    def _mask(self, longest: int, used: int, window: int | None, like: Tensor) -> Tensor:
        """Make the additive mask (rows, 1, 1, longest + used): it hides padding and what a window has passed."""
        key = (used, window)
        if key not in self._masks:
            column = torch.arange(longest + used, device=like.device)
            lengths = self._lengths[:, None]
            hidden = (column >= lengths) & (column < longest)
            if window is not None:
                # Where a column stands in its row's text: the padding between prompt and answer does not count.
                place = torch.where(column < longest, column, column - longest + lengths)
                hidden |= place <= lengths + used - 1 - window
            mask = torch.zeros(hidden.shape, dtype=like.dtype, device=like.device).masked_fill_(hidden, -torch.inf)
            self._masks = {kept: value for kept, value in self._masks.items() if kept[0] == used}
            self._masks[key] = mask[:, None, None]
        return self._masks[key]


def joined_tokens(cohorts: Sequence[Cohort]) -> int:
    """Count the cache columns that cohorts would hold as one."""
    prompts = sum(len(cohort.prefix_lengths) for cohort in cohorts)
    longest = max(cohort.prefix[0][0].shape[2] for cohort in cohorts)
    return prompts * longest + sum(cohort.drafts for cohort in cohorts) * max(cohort.capacity for cohort in cohorts)


def join(cohorts: Sequence[Cohort]) -> Cohort:
    """Make one cohort of several that have just begun: padding costs less than more calls."""
    assert not any(cohort.length for cohort in cohorts)
    counts = [len(cohort.prefix_lengths) for cohort in cohorts]
    longest = max(cohort.prefix[0][0].shape[2] for cohort in cohorts)
    prefix = []
    for layer in range(len(cohorts[0].prefix)):
        pair = []
        for side in (0, 1):
            parts = [cohort.prefix[layer][side][:count] for cohort, count in zip(cohorts, counts, strict=True)]
            whole = parts[0].new_zeros(sum(counts), parts[0].shape[1], longest, parts[0].shape[3])
            for place, part in zip(torch.split(whole, counts), parts, strict=True):
                place[:, :, : part.shape[2]] = part
            pair.append(whole)
        prefix.append((pair[0], pair[1]))
    first = [sum(counts[:number]) for number in range(len(counts))]
    return Cohort(
        prefix,
        [length for cohort in cohorts for length in cohort.prefix_lengths],
        [drafts for cohort in cohorts for drafts in cohort.members],
        [begin + owner for begin, cohort in zip(first, cohorts, strict=True) for owner in cohort.owners],
        max(cohort.capacity for cohort in cohorts),
    )


class CohortCache(Cache):
    """What the model's forward sees as its cache: routes each layer's new keys to the cohorts."""

    def __init__(self, cohorts: Sequence[Cohort]) -> None:
        super().__init__(layers=[])
        self.cohorts = list(cohorts)
        self.layer = -1
        self.layers_attended = 0

    def update(
        self, key_states: Tensor, value_states: Tensor, layer_idx: int, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        self.layer = layer_idx
        begin = 0
        for cohort in self.cohorts:
            end = begin + cohort.rows
            cohort.append(layer_idx, key_states[begin:end], value_states[begin:end])
            begin = end
        return key_states, value_states

    def get_seq_length(self, layer_idx: int = 0) -> int:
        return max(max(cohort.positions()) for cohort in self.cohorts)

    def attend(
        self, query: Tensor, key_heads: int, scaling: float, window: int | None, softcap: float | None
    ) -> Tensor:
        self.layers_attended += 1
        rows, heads, _, size = query.shape
        grouped = query.reshape(rows, key_heads, heads // key_heads, size)
        outputs = []
        begin = 0
        for cohort in self.cohorts:
            end = begin + cohort.rows
            outputs.append(cohort.attend(self.layer, grouped[begin:end], scaling, window, softcap))
            begin = end
        output = outputs[0] if len(outputs) == 1 else torch.cat(outputs)
        return output.reshape(rows, 1, heads, output.shape[-1])


_ACTIVE: ContextVar[CohortCache | None] = ContextVar("evoenv_cohorts", default=None)


def cohort_attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    sliding_window: int | None = None,
    softcap: float | None = None,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    """Attend over the active cache, which has just been given the new keys and values; transformers calls it."""
    cache = _ACTIVE.get()
    if cache is None or query.shape[2] != 1:
        raise NotImplementedError("cohort attention decodes one token per row")
    for name in _UNSUPPORTED:
        if kwargs.get(name) is not None:
            raise NotImplementedError(f"cohort attention knows no {name}")
    scale = query.shape[-1] ** -0.5 if scaling is None else float(scaling)
    return cache.attend(query, key.shape[1], scale, sliding_window, softcap), None


AttentionInterface.register(NAME, cohort_attention)


@contextmanager
def decoding(config: Any, cache: CohortCache) -> Iterator[None]:
    """Let the model's attention layers read `cache` within the context; nothing changes outside it."""
    before = config._attn_implementation
    token = _ACTIVE.set(cache)
    config._attn_implementation = NAME
    try:
        yield
    finally:
        config._attn_implementation = before
        _ACTIVE.reset(token)
