"""The slow sure way: one prompt at a time, its drafts as a batch in step, the model's own cache and attention.

For architectures that cohort decoding cannot serve (recurrent states, attention sinks, shared caches). Prompts are
still computed once per group and finished rows still leave the batch; only prompts do not share a batch.
"""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache

from evoenv.engines.local.decode import DecodeStats, Unit, _innermost, draw_tokens, plan_units
from evoenv.engines.local.draft import Draft
from evoenv.errors import PolicyError


class PlainDecoder:
    def __init__(self, model: Any, *, budget: int, max_rows: int) -> None:
        self.model = model
        self.budget = budget
        self.max_rows = max_rows
        self.stats = DecodeStats()
        self._device = next(model.parameters()).device
        parameters = inspect.signature(_innermost(model).forward).parameters
        self._cache_name = "past_key_values" if "past_key_values" in parameters else "cache_params"

    def begin(self) -> PlainDecoding:
        return PlainDecoding(self)

    def decode(self, unit: Unit) -> Iterator[list[Draft]]:
        """Decode a unit token by token; yield, after each, the drafts that it has finished."""
        with torch.inference_mode():
            cache = DynamicCache(config=self.model.config)
            logits = self._forward(torch.tensor([list(unit.context)], device=self._device), cache)
            rows = len(unit.drafts)
            self._select(cache, torch.zeros(rows, dtype=torch.long, device=self._device))
            finished, _ = draw_tokens(logits, [unit.drafts])
        self.stats.prefill_tokens += len(unit.context)
        yield finished
        drafts = unit.drafts
        while True:
            live = [row for row, draft in enumerate(drafts) if draft.finish_reason is None]
            if not live:
                return
            with torch.inference_mode():
                if len(live) < len(drafts):
                    self._select(cache, torch.tensor(live, device=self._device))
                    drafts = [drafts[row] for row in live]
                tokens = torch.tensor([[draft.tokens[-1]] for draft in drafts], device=self._device)
                finished, _ = draw_tokens(self._forward(tokens, cache), [[draft] for draft in drafts])
            self.stats.steps += 1
            self.stats.decode_rows += len(drafts)
            yield finished

    def _forward(self, input_ids: Tensor, cache: Any) -> Tensor:
        if self.model.training:
            self.model.eval()
        try:
            output = self.model(input_ids=input_ids, use_cache=True, return_dict=True, **{self._cache_name: cache})
        except (TypeError, AttributeError, NotImplementedError, ValueError) as error:
            raise PolicyError(
                f"{type(_innermost(self.model)).__name__} cannot be decoded token by token here: {error}; "
                "use another model, or serve it and pass model.base_url"
            ) from error
        logits: Tensor = output.logits[:, -1]
        return logits

    @staticmethod
    def _select(cache: Any, rows: Tensor) -> None:
        for layer in cache.layers:
            layer.reorder_cache(rows)


class PlainDecoding:
    """The loop over one session's drafts."""

    def __init__(self, decoder: PlainDecoder) -> None:
        self._decoder = decoder
        self._pending: deque[Unit] = deque()
        self._current: Iterator[list[Draft]] | None = None

    @property
    def busy(self) -> bool:
        return bool(self._pending) or self._current is not None

    def add(self, groups: Sequence[Sequence[Draft]]) -> None:
        for unit in plan_units(groups, self._decoder.max_rows):
            rows = max(1, self._decoder.budget // (len(unit.context) + unit.most))
            for begin in range(0, len(unit.drafts), rows):
                self._pending.append(Unit(unit.context, unit.drafts[begin : begin + rows]))

    def advance(self) -> list[Draft]:
        if self._current is None:
            self._current = self._decoder.decode(self._pending.popleft())
        finished = next(self._current, None)
        if finished is None:
            self._current = None
        return finished or []
