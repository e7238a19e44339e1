"""Does decoding by cohorts give the plain model's numbers on this very model? Asked once, before it is relied on.

Architectures differ in ways that no list can keep up with (shared caches, attention sinks, position biases,
recurrent states). A few tokens through both ways answer for the model at hand.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache

from evoenv.engines.local.draft import Draft, TextRules
from evoenv.engines.local.kv import Cohort, CohortCache, decoding
from evoenv.engines.local.lean import LeanStep, lean_step
from evoenv.records import Message, Request

log = logging.getLogger(__name__)

_KNOWN_LAYERS = {"full_attention", "sliding_attention"}
_TOLERANCE = {torch.float32: 1e-3, torch.float64: 1e-6}
_PROMPTS = ((5, 11, 7, 3, 13, 9, 4), (6, 8, 10, 12, 14))
_ANSWERS = ((7, 9, 5), (8, 4, 11), (10, 13, 6))
_OWNERS = (0, 0, 1)
Forward = Callable[[Cohort, Tensor, Tensor], Tensor]
"""One token for each row of a cohort, with its position, to the logits of the next."""


def supports_cohorts(model: Any) -> bool:
    """Say whether two prompts and three rows decode to the logits of a plain forward pass."""
    config = model.config.get_text_config()
    layer_types = set(getattr(config, "layer_types", None) or ())
    if not layer_types <= _KNOWN_LAYERS:
        log.info("layers of type %s: using the plain decoder", ", ".join(sorted(layer_types - _KNOWN_LAYERS)))
        return False

    def forward(cohort: Cohort, ids: Tensor, positions: Tensor) -> Tensor:
        view = CohortCache([cohort])
        with decoding(config, view):
            inputs = {"input_ids": ids[:, None], "position_ids": positions[:, None]}
            logits: Tensor = model(past_key_values=view, use_cache=True, **inputs).logits[:, -1]
        if view.layers_attended != len(cohort.prefix):
            raise NotImplementedError(
                f"{view.layers_attended} of {len(cohort.prefix)} layers came through the interface"
            )
        return logits

    return _agrees(model, forward, "cohort decoding", "the plain decoder")


def checked_lean_step(model: Any) -> LeanStep | None:
    """Return the short way of decoding if there is one for this model and it gives the model's numbers."""
    step = lean_step(model)
    if step is None:
        return None
    agrees = _agrees(model, lambda cohort, *inputs: step([cohort], *inputs), "lean decoding", "the model's own forward")
    return step if agrees else None


def _agrees(model: Any, forward: Forward, name: str, instead: str) -> bool:
    try:
        difference = _difference(model, model.config.get_text_config(), forward)
    except Exception as error:  # whatever an architecture trips over, there is a way that needs less of it
        log.info("%s does not run on %s (%s): using %s", name, type(model).__name__, error, instead)
        return False
    allowed = _TOLERANCE.get(next(model.parameters()).dtype, 0.1)
    if not difference <= allowed:
        log.info("%s is off by %.2g on %s: using %s", name, difference, type(model).__name__, instead)
    return difference <= allowed


@torch.inference_mode()
def _difference(model: Any, config: Any, forward: Forward) -> float:
    """Measure the greatest deviation of any logit, relative to the logits' own size."""
    device = next(model.parameters()).device
    vocabulary = int(config.vocab_size)
    prompts = [[token % vocabulary for token in prompt] for prompt in _PROMPTS]
    answers = [[token % vocabulary for token in answer] for answer in _ANSWERS]
    longest = max(map(len, prompts))
    cache: Any = DynamicCache()
    model(
        input_ids=torch.tensor([[*prompt, *[0] * (longest - len(prompt))] for prompt in prompts], device=device),
        position_ids=torch.arange(longest, device=device)[None].expand(len(prompts), -1),
        past_key_values=cache,
        use_cache=True,
    )
    request = Request("self-check", "solver", (Message("user", ""),), max_tokens=len(answers[0]))
    members = [[Draft(request, row, (), _NO_RULES)] for row in range(len(answers))]
    prefix = [(layer.keys, layer.values) for layer in cache.layers]
    cohort = Cohort(prefix, [len(prompt) for prompt in prompts], members, _OWNERS, capacity=len(answers[0]))
    worst = 0.0
    for step in range(len(answers[0])):
        ids = torch.tensor([answer[step] for answer in answers], device=device)
        logits = forward(cohort, ids, torch.tensor(cohort.positions(), device=device))
        cohort.length += 1
        for row, owner in enumerate(_OWNERS):
            whole = torch.tensor([[*prompts[owner], *answers[row][: step + 1]]], device=device)
            expected = model(input_ids=whole, use_cache=False).logits[0, -1].float()
            scale = float(expected.abs().max()) + 1e-6
            off = float((logits[row].float() - expected).abs().max()) / scale
            worst = max(worst, off if math.isfinite(off) else math.inf)  # max() would pass over what is no number
    return worst


class _NoRules(TextRules):
    def __init__(self) -> None:
        super().__init__(None, ())


_NO_RULES = _NoRules()
