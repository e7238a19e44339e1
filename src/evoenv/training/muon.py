"""Muon, orthogonalising in the precision that the processor is fast in.

PyTorch's Muon computes in bfloat16. A graphics card is made for that; many CPUs have no such instructions and need
forty times as long as in float32, so that a step of a small model would spend nearly all its time here. Matrices of
one shape are orthogonalised together: fewer calls, and threads that need not wait for one another.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


def orthogonalise(matrices: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float) -> Tensor:
    """Bring the singular values of each matrix of a stack near one, by Newton-Schulz steps.

    `matrices` has three dimensions, of which the first counts them; the result has their device, and bfloat16 on
    everything but a CPU.
    """
    linear, cubic, quintic = coefficients
    near = matrices.to(torch.float32 if matrices.device.type == "cpu" else torch.bfloat16)
    tall = near.size(1) > near.size(2)
    if tall:
        near = near.mT
    # The spectral norm is at most the Frobenius norm, and the steps converge below one.
    near = near / near.flatten(1).norm(dim=1).clamp(min=eps)[:, None, None]
    for _ in range(steps):
        gram = near @ near.mT
        polynomial = torch.baddbmm(gram, gram, gram, beta=cubic, alpha=quintic)
        near = torch.baddbmm(near, polynomial, near, beta=linear)
    return near.mT if tall else near


class Muon(torch.optim.Muon):
    """Step matrices as `torch.optim.Muon` does, with its settings and state; only the precision differs.

    Updates have the size of AdamW's (`match_rms_adamw`), so that one rate serves both.
    """

    def __init__(self, matrices: list[Tensor], lr: float, weight_decay: float) -> None:
        super().__init__(matrices, lr=lr, weight_decay=weight_decay, adjust_lr_fn="match_rms_adamw")

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> None:  # type: ignore[override]
        """Move every matrix that has a gradient. `closure` is PyTorch's and not taken."""
        if closure is not None:
            raise TypeError("Muon takes no closure; compute the gradients before the step.")
        for group in self.param_groups:
            alike: dict[tuple[int, int], list[Tensor]] = {}
            for matrix in group["params"]:
                if matrix.grad is not None:
                    alike.setdefault((matrix.size(0), matrix.size(1)), []).append(matrix)
            for matrices in alike.values():
                self._move(matrices, group)

    def _move(self, matrices: list[Tensor], group: dict[str, Any]) -> None:
        """Move matrices of one shape."""
        updates = torch.stack([self._update(matrix, group["momentum"], group["nesterov"]) for matrix in matrices])
        updates = orthogonalise(updates, group["ns_coefficients"], group["ns_steps"], group["eps"])
        rate = group["lr"] * 0.2 * max(matrices[0].shape) ** 0.5
        for matrix, update in zip(matrices, updates, strict=True):
            matrix.mul_(1 - group["lr"] * group["weight_decay"])
            matrix.add_(update, alpha=-rate)

    def _update(self, matrix: Tensor, momentum: float, nesterov: bool) -> Tensor:
        """Take the gradient into the matrix's momentum and return what is to be orthogonalised."""
        gradient = matrix.grad
        assert gradient is not None
        kept = self.state[matrix]
        if "momentum_buffer" not in kept:
            kept["momentum_buffer"] = torch.zeros_like(gradient)
        buffer: Tensor = kept["momentum_buffer"]
        buffer.lerp_(gradient, 1 - momentum)
        return gradient.lerp(buffer, momentum) if nesterov else buffer
