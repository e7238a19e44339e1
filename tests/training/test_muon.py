"""Muon against PyTorch's own, against values worked by hand, and against float64."""

from __future__ import annotations

import pytest
import torch

from evoenv.training.muon import Muon, orthogonalise

COEFFICIENTS = (3.4445, -4.775, 2.0315)


def test_a_round_maps_each_singular_value_by_the_polynomial() -> None:
    # diag(3, 4) has Frobenius norm 5: 0.6 and 0.8 go in, 3.4445 s - 4.775 s³ + 2.0315 s⁵ comes out.
    rounded = orthogonalise(torch.diag(torch.tensor([3.0, 4.0]))[None], COEFFICIENTS, 1, 1e-7)[0]
    assert rounded.diagonal().tolist() == pytest.approx([1.1932694, 0.9764819], abs=1e-6)
    assert rounded.fliplr().diagonal().tolist() == [0.0, 0.0]


@pytest.mark.parametrize("shape", [(3, 24, 40), (3, 40, 24), (1, 16, 16)])
def test_five_rounds_in_float32_are_those_in_float64(shape: tuple[int, int, int]) -> None:
    matrices = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    for matrix, near in zip(matrices, orthogonalise(matrices, COEFFICIENTS, 5, 1e-7), strict=True):
        left, values, right = torch.linalg.svd(matrix.double(), full_matrices=False)
        values = values / matrix.double().norm()
        for _ in range(5):
            values = COEFFICIENTS[0] * values + COEFFICIENTS[1] * values**3 + COEFFICIENTS[2] * values**5
        assert near.dtype == torch.float32
        assert torch.allclose(near.double(), left @ torch.diag(values) @ right, atol=1e-4)


def test_it_steps_as_pytorchs_own_does_to_the_precision_of_bfloat16() -> None:
    chance = torch.Generator().manual_seed(1)
    start = [torch.randn(shape, generator=chance) for shape in ((24, 40), (40, 24), (24, 40), (16, 16))]
    ours, theirs = ([weight.clone().requires_grad_() for weight in start] for _ in range(2))
    mine = Muon(list(ours), lr=1e-2, weight_decay=0.1)
    peer = torch.optim.Muon(theirs, lr=1e-2, weight_decay=0.1, adjust_lr_fn="match_rms_adamw")
    for _ in range(3):
        for own, other in zip(ours, theirs, strict=True):
            own.grad = torch.randn(own.shape, generator=chance)
            other.grad = own.grad.clone()
        mine.step()
        peer.step()
    for own, other, before in zip(ours, theirs, start, strict=True):
        moved = (other - before).norm()
        assert (own - other).norm() < 0.02 * moved
        assert torch.equal(mine.state[own]["momentum_buffer"], peer.state[other]["momentum_buffer"])


def test_a_matrix_without_a_gradient_stays_and_a_zero_gradient_only_decays() -> None:
    still, zero = torch.ones(2, 3, requires_grad=True), torch.ones(2, 3, requires_grad=True)
    zero.grad = torch.zeros(2, 3)
    Muon([still, zero], lr=0.5, weight_decay=0.1).step()
    assert torch.equal(still, torch.ones(2, 3))
    assert torch.allclose(zero, torch.full((2, 3), 0.95))
