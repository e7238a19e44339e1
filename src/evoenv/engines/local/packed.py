"""Frozen linear layers with packed weights: faster sampling on a CPU.

A product with a plain matrix rearranges the matrix first, every time. With a hundred rows that hardly counts; with
eight, as at the end of a batch when most answers are finished, it is most of the work, and reading the matrix is the
rest. So a copy is kept that is rearranged already, once, of weights that no training changes: by FBGEMM in half
precision, of which half as much is read, or where that is missing by oneDNN in float32.

Half precision rounds a weight by at most one part in two thousand. What is sampled is sampled from the rounded model,
and its log-probabilities are that model's: they are what the importance ratio of the loss divides by. The trainer
computes its own from the plain weights; `logprob/gap_mean` is the difference, in every step.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from evoenv.models.products import PRODUCTS

log = logging.getLogger(__name__)

Product = Callable[[Tensor], Tensor]
Packer = Callable[[nn.Linear], Product]
USUAL_ROWS = 96
"""For how many rows oneDNN arranges its weights."""


def pack_frozen(model: nn.Module, *, trained: bool, pack: Packer | None = None) -> int:
    """Pack every float32 linear layer on the CPU that is not trained; return how many weights were packed.

    `trained`: whether a learner steps the weights that want a gradient. If so, all layers keep their plain weights,
    through which gradients flow. Without one all are frozen, and plain weights that nothing else uses are given up.
    `pack`: how; unless it is given, the best that this processor has.
    """
    pack = pack or best_packer()
    if pack is None:
        log.info("this build of torch has neither FBGEMM nor oneDNN: weights are not packed")
        return 0
    elsewhere = {id(layer.weight) for layer in model.modules() if isinstance(layer, nn.Embedding)}
    packed = 0
    for layer in model.modules():
        if isinstance(layer, nn.Linear) and type(layer) in PRODUCTS and _packable(layer, trained=trained):
            packed += layer.weight.numel()
            _replace(layer, pack(layer), keep=trained or id(layer.weight) in elsewhere)
    return packed


def _packable(layer: nn.Linear, *, trained: bool) -> bool:
    weight = layer.weight
    return weight.device.type == "cpu" and weight.dtype == torch.float32 and not (trained and weight.requires_grad)


def best_packer() -> Packer | None:
    """Return what packs a layer on this processor, with this build of torch."""
    if "fbgemm" in torch.backends.quantized.supported_engines:
        return in_half_precision
    return in_float32 if torch.backends.mkldnn.is_available() else None  # type: ignore[no-untyped-call]


def in_half_precision(layer: nn.Linear) -> Product:
    """Arrange the weights in half precision, by FBGEMM."""
    operations: Any = torch.ops.quantized
    engines: Any = torch.backends.quantized
    engine = engines.engine
    engines.engine = "fbgemm"  # asked for when weights are packed, and by nothing afterwards
    try:
        weight = operations.linear_prepack_fp16(layer.weight.detach(), _bias(layer))
    finally:
        engines.engine = engine

    def multiply(rows: Tensor) -> Tensor:
        product: Tensor = operations.linear_dynamic_fp16(rows, weight)
        return product

    return multiply


def in_float32(layer: nn.Linear) -> Product:
    """Arrange the weights as they are, by oneDNN."""
    operations: Any = torch.ops.mkldnn
    weight, bias = operations._reorder_linear_weight(layer.weight.detach(), USUAL_ROWS), _bias(layer)

    def multiply(rows: Tensor) -> Tensor:
        product: Tensor = operations._linear_pointwise(rows, weight, bias, "none", [], "")
        return product

    return multiply


def _bias(layer: nn.Linear) -> Tensor | None:
    return None if layer.bias is None else layer.bias.detach()


def _replace(layer: nn.Linear, multiply: Product, *, keep: bool) -> None:
    """Let the layer multiply by packed weights; if it keeps the plain ones, only while it samples."""

    plain = layer.forward

    def choose(rows: Tensor) -> Tensor:
        # Nothing but sampling runs in inference mode: what the trainer computes, with a gradient or without, is exact.
        return multiply(rows) if torch.is_inference_mode_enabled() else plain(rows)

    layer.forward = choose if keep else multiply  # type: ignore[assignment,method-assign]
    if not keep:
        layer.weight = nn.Parameter(layer.weight.new_empty(0), requires_grad=False)
