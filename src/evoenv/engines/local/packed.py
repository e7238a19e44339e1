"""Frozen linear layers with packed weights: faster products with few rows on a CPU.

A product with a plain matrix rearranges the matrix first, every time. With a hundred rows that hardly counts; with
eight, as at the end of a batch when most answers are finished, it is most of the work. oneDNN keeps the rearranged
matrix instead. It is made once, so only of weights that no training changes.
"""

from __future__ import annotations

import logging
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

log = logging.getLogger(__name__)

MOST_ROWS = 96
"""Up to this many rows packed weights are faster; with more the plain ones are, by a little, if they are there."""


def pack_frozen(model: nn.Module, *, trained: bool) -> int:
    """Pack every float32 linear layer on the CPU that is not trained; return how many weights were packed.

    `trained`: whether a learner steps the weights that want a gradient. If so, all layers keep their plain weights,
    through which gradients flow. Without one all are frozen, and plain weights that nothing else uses are given up.
    """
    if not torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
        log.info("this build of torch has no oneDNN: weights are not packed")
        return 0
    elsewhere = {id(layer.weight) for layer in model.modules() if isinstance(layer, nn.Embedding)}
    packed = 0
    for layer in model.modules():
        if type(layer) is nn.Linear and _packable(layer, trained=trained):
            packed += layer.weight.numel()
            _pack(layer, keep=trained or id(layer.weight) in elsewhere)
    return packed


def _packable(layer: nn.Linear, *, trained: bool) -> bool:
    weight = layer.weight
    return weight.device.type == "cpu" and weight.dtype == torch.float32 and not (trained and weight.requires_grad)


def _pack(layer: nn.Linear, *, keep: bool) -> None:
    """Let the layer multiply by packed weights; if it keeps the plain ones, only few rows that want no gradient."""
    operations: Any = torch.ops.mkldnn
    weight = operations._reorder_linear_weight(layer.weight.detach(), MOST_ROWS)
    bias = None if layer.bias is None else layer.bias.detach()
    most = MOST_ROWS * layer.in_features

    def multiply(rows: Tensor) -> Tensor:
        product: Tensor = operations._linear_pointwise(rows, weight, bias, "none", [], "")
        return product

    def choose(rows: Tensor) -> Tensor:
        if torch.is_grad_enabled() or rows.numel() > most:
            return functional.linear(rows, layer.weight, layer.bias)
        return multiply(rows)

    layer.forward = choose if keep else multiply  # type: ignore[assignment,method-assign]
    if not keep:
        layer.weight = nn.Parameter(layer.weight.new_empty(0), requires_grad=False)
