"""Attention over packed rows, plugged into transformers' attention interface.

A packed row holds several trees: a prompt, and its responses, which part where they differ (`batching.Layout`). Every
piece of a tree attends to itself and to the pieces that lead to it, and to nothing else: a short tree in one call with
a mask of its own, a long one piece by piece, so that there is neither padding nor a square mask over the row. Every
architecture that calls its attention through the interface can use it; `logprobs.LogprobScorer` checks on the model at
hand that it really gives the plain model's numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from evoenv.training.batching import Span

NAME = "evoenv_packed"
QUERY_BLOCK = 512
"""Queries per call: bounds the mask to this many rows, and skips the keys after the block."""

TREE_LIMIT = 512
"""Tokens up to which a tree is one call: what its mask hides is computed in vain, but many short calls cost more."""
FOLD_LIMIT = 1 << 22
"""Entries of a mask up to which heads that share keys are folded into one."""
KNOWN_LAYERS = {"full_attention", "sliding_attention"}
UNSUPPORTED = ("softcap", "position_bias", "s_aux", "head_mask")


class PackedRow:
    """The spans of one packed row and the masks that its layers share."""

    def __init__(self, spans: tuple[Span, ...]) -> None:
        self.spans = spans
        self.calls = 0
        """How many layers came through here: one that did not would have read all responses as one text."""
        self.windowed_calls = 0
        self._masks: dict[tuple[int, int, int | None, int], Tensor] = {}
        self._tree_masks: dict[tuple[Span, int | None, int], Tensor] = {}

    def mask(self, queries: int, keys: int, window: int | None, like: Tensor, repeats: int = 1) -> Tensor:
        """Return an additive mask for the last `queries` of `keys` positions, stacked `repeats` times."""
        shape = queries, keys, window, repeats
        if shape not in self._masks:
            query = torch.arange(keys - queries, keys, device=like.device).repeat(repeats)[:, None]
            key = torch.arange(keys, device=like.device)[None, :]
            hidden = key > query
            if window is not None:
                hidden |= key <= query - window
            self._masks[shape] = _additive(hidden, like)
        return self._masks[shape]

    def tree_mask(self, span: Span, window: int | None, like: Tensor, repeats: int) -> Tensor:
        """Return an additive mask for all tokens of a tree, stacked `repeats` times."""
        key = span, window, repeats
        if key not in self._tree_masks:
            leads = torch.zeros(len(span.pieces), len(span.pieces), dtype=torch.bool)
            begins: list[int] = []
            for number, piece in enumerate(span.pieces):
                if piece.parent is None:
                    begins.append(0)
                else:
                    leads[number] = leads[piece.parent]
                    begins.append(begins[piece.parent] + span.pieces[piece.parent].length)
                leads[number, number] = True
            owner = torch.repeat_interleave(torch.tensor([piece.length for piece in span.pieces]))
            place = torch.cat(
                [torch.arange(at, at + piece.length) for at, piece in zip(begins, span.pieces, strict=True)]
            )
            hidden = ~leads[owner][:, owner] | (place[None, :] > place[:, None])
            if window is not None:
                hidden |= place[None, :] <= place[:, None] - window
            self._tree_masks[key] = _additive(hidden.repeat(repeats, 1).to(like.device), like)
        return self._tree_masks[key]

    def check(self, config: Any) -> None:
        """Raise unless every layer of a model with this configuration came through, with the window it should have."""
        kinds = getattr(config, "layer_types", None) or ["full_attention"] * config.num_hidden_layers
        if strange := set(kinds) - KNOWN_LAYERS:
            raise NotImplementedError(f"layers of an unknown kind: {', '.join(sorted(strange))}")
        if self.calls != len(kinds):
            raise NotImplementedError(f"{self.calls} of {len(kinds)} layers use the attention interface")
        if self.windowed_calls < kinds.count("sliding_attention"):
            raise NotImplementedError("a layer does not tell its attention about its sliding window")


def _additive(hidden: Tensor, like: Tensor) -> Tensor:
    return torch.zeros(hidden.shape, dtype=like.dtype, device=like.device).masked_fill_(hidden, -torch.inf)


def packed_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    evoenv_row: PackedRow | None = None,
    sliding_window: int | None = None,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    """Attend within packed rows.

    Takes (1, heads, tokens, size) as the interface hands it over; gives (1, tokens, heads, size).
    """
    if evoenv_row is None:
        raise NotImplementedError(f"{type(module).__name__} does not hand keyword arguments on to its attention")
    for name in UNSUPPORTED:
        if kwargs.get(name) is not None:
            raise NotImplementedError(f"packed attention knows no {name}")
    row = evoenv_row
    row.calls += 1
    row.windowed_calls += sliding_window is not None
    given = query.dtype
    if query.device.type == "cpu" and given in (torch.bfloat16, torch.float16):
        # On a CPU the backward pass of attention takes twice as long in half precision as in float32.
        query, key, value = query.float(), key.float(), value.float()
    # One split for each of the three: the backward pass of a split is one concatenation; slices would each fill a
    # gradient as long as the row.
    whole = [len(span.pieces) > 1 and span.length <= TREE_LIMIT for span in row.spans]
    sizes = [
        size
        for span, at_once in zip(row.spans, whole, strict=True)
        for size in ([span.length] if at_once else [piece.length for piece in span.pieces])
    ]
    parts = zip(*(torch.split(tensor, sizes, dim=2) for tensor in (query, key, value)), strict=True)
    outputs: list[Tensor] = []

    def attend(q: Tensor, k: Tensor, v: Tensor) -> None:
        """Attend with queries that stand at the end of their keys, block by block."""
        before = k.shape[2] - q.shape[2]
        for low in range(0, q.shape[2], QUERY_BLOCK):
            high = min(low + QUERY_BLOCK, q.shape[2])
            part = slice(low, high), slice(0, before + high)
            all_of_it = (high - low, before + high) == (q.shape[2], k.shape[2])
            block = (q, k, v) if all_of_it else (q[:, :, part[0]], k[:, :, part[1]], v[:, :, part[1]])
            outputs.append(_attend_block(row, *block, sliding_window, scaling).transpose(1, 2))

    for span, at_once in zip(row.spans, whole, strict=True):
        if at_once:
            q, k, v = next(parts)
            outputs.append(_attend_tree(row, span, q, k, v, sliding_window, scaling).transpose(1, 2))
            continue
        ways: list[tuple[Tensor, Tensor]] = []
        for piece in span.pieces:
            q, k, v = next(parts)
            if piece.parent is not None:
                before_k, before_v = ways[piece.parent]
                k, v = torch.cat((before_k, k), dim=2), torch.cat((before_v, v), dim=2)
            ways.append((k, v))
            attend(q, k, v)
    return torch.cat(outputs, dim=1).to(given), None


def _attend_tree(
    row: PackedRow, span: Span, q: Tensor, k: Tensor, v: Tensor, window: int | None, scaling: float | None
) -> Tensor:
    """Compute grouped-query attention within one tree; heads that share keys become further queries."""
    heads, tokens, size = q.shape[1:]
    groups = k.shape[1]
    mask = row.tree_mask(span, window, q, heads // groups)
    folded = q.reshape(1, groups, heads // groups * tokens, size)
    return scaled_dot_product_attention(folded, k, v, attn_mask=mask, scale=scaling).reshape(1, heads, tokens, size)


def _attend_block(row: PackedRow, q: Tensor, k: Tensor, v: Tensor, window: int | None, scaling: float | None) -> Tensor:
    """Compute grouped-query attention of queries that stand at the end of their keys."""
    heads, queries, size = q.shape[1:]
    groups, keys = k.shape[1:3]
    repeats = heads // groups
    if repeats * queries * keys <= FOLD_LIMIT:
        # Heads that share keys become further queries: on a CPU five times as fast as repeating the keys.
        mask = row.mask(queries, keys, window, q, repeats)
        folded = q.reshape(1, groups, repeats * queries, size)
        result = scaled_dot_product_attention(folded, k, v, attn_mask=mask, scale=scaling)
        return result.reshape(1, heads, queries, size)
    if repeats > 1:
        k, v = k.repeat_interleave(repeats, dim=1), v.repeat_interleave(repeats, dim=1)
    causal = queries == keys and (window is None or keys <= window)
    ragged = None if causal else row.mask(queries, keys, window, q)
    return scaled_dot_product_attention(q, k, v, attn_mask=ragged, is_causal=causal, scale=scaling)


def _no_mask(*_: Any, **__: Any) -> None:
    """Make no mask: the row's spans say all that a mask would."""


@contextmanager
def packed_attention_installed(model: Any) -> Iterator[None]:
    """Switch a transformers model to packed attention, and back."""
    from transformers import AttentionInterface, AttentionMaskInterface

    AttentionInterface.register(NAME, packed_attention)
    AttentionMaskInterface.register(NAME, _no_mask)
    before = model.config._attn_implementation
    model.set_attn_implementation(NAME)
    try:
        yield
    finally:
        model.set_attn_implementation(before)
