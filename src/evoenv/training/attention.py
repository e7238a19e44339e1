"""Attention over packed rows, plugged into transformers' attention interface.

A packed row holds several prompts, each followed by its responses (`batching.Layout`). A prompt attends to
itself; a response to its prompt and to itself; nothing else is computed, so there is neither padding nor a square
mask over the row. Every architecture that calls its attention through the interface can use it; `logprobs.Scorer`
checks on the model at hand that it really gives the plain model's numbers.
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

KNOWN_LAYERS = {"full_attention", "sliding_attention"}
UNSUPPORTED = ("softcap", "position_bias", "s_aux", "head_mask")


class PackedRow:
    """The spans of one packed row and the masks that its layers share."""

    def __init__(self, spans: tuple[Span, ...]) -> None:
        self.spans = spans
        self.calls = 0
        """How many layers came through here: one that did not would have read all responses as one text."""
        self.windowed_calls = 0
        self._masks: dict[tuple[int, int, int | None], Tensor] = {}

    def mask(self, queries: int, keys: int, window: int | None, like: Tensor) -> Tensor:
        """Additive mask for the last `queries` of `keys` positions."""
        cached = self._masks.get((queries, keys, window))
        if cached is None:
            query = torch.arange(keys - queries, keys, device=like.device)[:, None]
            key = torch.arange(keys, device=like.device)[None, :]
            hidden = key > query
            if window is not None:
                hidden |= key <= query - window
            cached = torch.zeros(queries, keys, dtype=like.dtype, device=like.device).masked_fill_(hidden, -torch.inf)
            self._masks[queries, keys, window] = cached
        return cached

    def check(self, config: Any) -> None:
        """Raise unless every layer of a model with this configuration came through, with the window it should have."""
        kinds = getattr(config, "layer_types", None) or ["full_attention"] * config.num_hidden_layers
        if strange := set(kinds) - KNOWN_LAYERS:
            raise NotImplementedError(f"layers of an unknown kind: {', '.join(sorted(strange))}")
        if self.calls != len(kinds):
            raise NotImplementedError(f"{self.calls} of {len(kinds)} layers use the attention interface")
        if self.windowed_calls < kinds.count("sliding_attention"):
            raise NotImplementedError("a layer does not tell its attention about its sliding window")


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
    """Takes (1, heads, tokens, size) as the interface hands it over; gives (1, tokens, heads, size)."""
    if evoenv_row is None:
        raise NotImplementedError(f"{type(module).__name__} does not hand keyword arguments on to its attention")
    for name in UNSUPPORTED:
        if kwargs.get(name) is not None:
            raise NotImplementedError(f"packed attention knows no {name}")
    row = evoenv_row
    row.calls += 1
    row.windowed_calls += sliding_window is not None
    repeats = query.shape[1] // key.shape[1]
    if repeats > 1:
        key, value = key.repeat_interleave(repeats, dim=1), value.repeat_interleave(repeats, dim=1)
    outputs: list[Tensor] = []

    def attend(begin: int, length: int, prefix: tuple[int, int]) -> None:
        """Queries [begin, begin + length) over the prefix (start, length) and themselves."""
        prefix_end = prefix[0] + prefix[1]
        for low in range(0, length, QUERY_BLOCK):
            high = min(low + QUERY_BLOCK, length)
            if prefix[1]:
                k = torch.cat((key[:, :, prefix[0] : prefix_end], key[:, :, begin : begin + high]), dim=2)
                v = torch.cat((value[:, :, prefix[0] : prefix_end], value[:, :, begin : begin + high]), dim=2)
            else:
                k, v = key[:, :, begin : begin + high], value[:, :, begin : begin + high]
            q = query[:, :, begin + low : begin + high]
            whole = high - low == k.shape[2] and (sliding_window is None or k.shape[2] <= sliding_window)
            mask = None if whole else row.mask(high - low, k.shape[2], sliding_window, q)
            result = scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=whole, scale=scaling)
            outputs.append(result.transpose(1, 2))

    for span in row.spans:
        attend(span.start, span.prompt, (span.start, 0))
        for begin, length in span.responses:
            attend(begin, length, (span.start, span.prompt))
    return torch.cat(outputs, dim=1), None


def _no_mask(*_: Any, **__: Any) -> None:
    """The row's spans say all that a mask would."""


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
