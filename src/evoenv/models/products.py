"""Linear layers in float32 by oneDNN, on processors for which it is faster than MKL.

PyTorch multiplies float32 matrices on a CPU by MKL, which gives a processor that is not Intel's its code for AVX2, even
if the processor has AVX-512. oneDNN asks the processor what it can do; there it multiplies twice as fast. So the linear
layers of a loaded model, forwards and backwards, are products of oneDNN on such processors. Sums are added up in
another order, nothing else changes: all is float32.

oneDNN makes a program for every size of product and keeps a thousand of them, up to a megabyte each. Rows come in every
number, as responses end and texts differ in length: most products would wait for a program of their own. So up to a
thousand rows are filled up with zeros to one of a few numbers (`usual_count`), and fewer programs are kept.
"""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

FEW_ROWS = 8
"""With fewer rows the time goes into reading the weights, and into the call, which costs more through oneDNN."""
MOST_FILLED = 1024
"""How many rows are filled up at most: with more the copy costs as much as a new program."""
KEPT_PROGRAMS = 128


@functools.cache
def onednn_is_faster() -> bool:
    """Return whether this processor is one that MKL gives less than it has: AVX-512, and not Intel's."""
    if not (torch.backends.mkl.is_available() and torch.backends.mkldnn.is_available()):  # type: ignore[no-untyped-call]
        return False
    return torch.backends.cpu.get_cpu_capability() == "AVX512" and processor_maker() not in ("", "GenuineIntel")


def processor_maker(information: Path = Path("/proc/cpuinfo")) -> str:
    """Return the maker as the processor names itself (`GenuineIntel`, `AuthenticAMD`); empty if that is not known."""
    try:
        lines = information.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("vendor_id")), "")


class OneDnnLinear(nn.Linear):
    """A linear layer whose products are oneDNN's."""

    def forward(self, input: Tensor) -> Tensor:
        return linear(input, self.weight, self.bias)


PRODUCTS = (nn.Linear, OneDnnLinear)
"""Layers that are a product and nothing else; what derives from them is more."""


def multiply_by_onednn(model: nn.Module) -> int:
    """Let the float32 linear layers on the CPU multiply by oneDNN; return how many there are.

    The layers change their class, and no function is put into them: so a copy of the model multiplies its own weights.
    """
    for name in ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY"):  # read when the first product is computed
        os.environ.setdefault(name, str(KEPT_PROGRAMS))
    found = 0
    for layer in model.modules():
        if type(layer) is nn.Linear and layer.weight.device.type == "cpu" and layer.weight.dtype == torch.float32:
            layer.__class__ = OneDnnLinear
            found += 1
    return found


def linear(rows: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Compute what `torch.nn.functional.linear` computes, by oneDNN where that is worth its call."""
    wanted = (rows, weight) if bias is None else (rows, weight, bias)
    few = rows.numel() < FEW_ROWS * weight.shape[1]
    if few or not all(map(_is_float32_on_cpu, wanted)) or torch.is_autocast_enabled("cpu"):
        return functional.linear(rows, weight, bias)
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in wanted):
        product: Tensor = _Linear.apply(rows, weight, bias)  # type: ignore[no-untyped-call]
        return product
    return _product(rows, weight, bias)


def linear_plus(sum_so_far: Tensor, rows: Tensor, weight: Tensor) -> Tensor:
    """Compute `sum_so_far` + `linear(rows, weight)` where no gradient is asked for; it may be written over."""
    if rows.numel() < FEW_ROWS * weight.shape[1]:
        return torch.addmm(sum_so_far, rows, weight.t())
    return _product(rows, weight, None).add_(sum_so_far)


def usual_count(rows: int) -> int:
    """Return the number to which rows are filled up: of eight between any number and its double, from 64 on."""
    step = max(8, 1 << (rows.bit_length() - 4))
    return -(-rows // step) * step


def _is_float32_on_cpu(tensor: Tensor) -> bool:
    return tensor.dtype == torch.float32 and tensor.device.type == "cpu"


def _product(rows: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Multiply rows of any shape; their number is filled up for the product and cut off again."""
    flat = rows.reshape(-1, rows.shape[-1])
    product = _multiply(_filled_up(flat), weight, None if bias is None else bias.contiguous())
    return product[: len(flat)].view(*rows.shape[:-1], -1)


def _multiply(rows: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    operations: Any = torch.ops.mkldnn
    product: Tensor = operations._linear_pointwise(rows, weight, bias, "none", [], "")
    return product


def _filled_up(rows: Tensor) -> Tensor:
    """Add rows of zeros up to the usual number, unless there are many."""
    count = usual_count(len(rows))
    if count == len(rows) or count > MOST_FILLED:
        return rows
    filled = rows.new_empty(count, rows.shape[1])
    filled[: len(rows)] = rows
    filled[len(rows) :].zero_()
    return filled


class _Linear(torch.autograd.Function):
    """The same with its gradients: oneDNN's operation has none of its own."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(rows, weight)
        return _product(rows, weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        rows, weight = ctx.saved_tensors
        wants_rows, wants_weight, wants_bias = ctx.needs_input_grad
        flat = gradient.reshape(-1, gradient.shape[-1])
        return (
            _product(gradient, weight.t(), None) if wants_rows else None,
            _of_weight(flat, rows.reshape(-1, rows.shape[-1])) if wants_weight else None,
            flat.sum(0) if wants_bias else None,
        )


def _of_weight(gradient: Tensor, rows: Tensor) -> Tensor:
    """Multiply the gradient, turned, by the rows: the first factor is copied to be turned, so let it be the smaller."""
    gradient, rows = _filled_up(gradient), _filled_up(rows)
    if gradient.shape[1] <= rows.shape[1]:
        return _multiply(gradient.t(), rows.t(), None)
    return _multiply(rows.t(), gradient.t(), None).t()
