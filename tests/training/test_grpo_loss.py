import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from training_support import random_groups, slow_loss

from evoenv.config import TrainingConfig
from evoenv.errors import ConfigError
from evoenv.objective import build_rows
from evoenv.records import Group, Role
from evoenv.training.loss import (
    check_loss_config,
    clipped_surrogate,
    low_variance_kl,
    weighted_loss,
)
from evoenv.training.tally import TokenColumns

CLIPS = {"clip_low": 0.2, "clip_high": 0.28, "dual_clip": 10.0}


@pytest.mark.parametrize(
    ("ratio", "advantage", "expected", "side"),
    [
        (1.0, 2.0, -2.0, None),
        (1.5, 2.0, -2.0 * 1.28, "high"),  # a good token is not pushed past 1.28
        (0.5, 2.0, -1.0, None),
        (0.5, -1.0, 0.8, "low"),  # a bad token is not pushed below 0.8
        (1.5, -1.0, 1.5, None),
        (12.0, -1.0, 10.0, "dual"),  # and one that ran away pays at most tenfold
    ],
)
def test_surrogate_by_hand(ratio: float, advantage: float, expected: float, side: str | None) -> None:
    sampled = torch.tensor([-1.0], dtype=torch.float64)
    logp = (sampled + math.log(ratio)).requires_grad_()
    result = clipped_surrogate(logp, sampled, torch.tensor([advantage], dtype=torch.float64), **CLIPS)
    assert result.loss.item() == pytest.approx(expected)
    assert result.ratio.item() == pytest.approx(ratio)
    assert [name for name in ("low", "high", "dual") if getattr(result, f"clipped_{name}").item()] == (
        [side] if side else []
    )
    (gradient,) = torch.autograd.grad(result.loss.sum(), logp)
    assert gradient.item() == pytest.approx(0.0 if side else -advantage * ratio)


def test_low_variance_kl_by_hand() -> None:
    logp = torch.tensor([-2.0, -2.0, -2.0], dtype=torch.float64, requires_grad=True)
    kl = low_variance_kl(logp, torch.tensor([-1.0, -2.0, -3.0], dtype=torch.float64))
    assert kl.tolist() == pytest.approx([math.e - 2.0, 0.0, 1.0 / math.e])
    (gradient,) = torch.autograd.grad(kl.sum(), logp)
    assert gradient.tolist() == pytest.approx([1.0 - math.e, 0.0, 1.0 - 1.0 / math.e])


def test_far_away_tokens_stay_finite() -> None:
    logp = torch.tensor([-500.0, 0.0])
    other = torch.tensor([0.0, -500.0])
    assert low_variance_kl(logp, other).tolist() == [10.0, 10.0]
    assert clipped_surrogate(logp, other, torch.tensor([1.0, -1.0]), **CLIPS).loss.isfinite().all()


def batch_loss(
    groups: list[Group], logprobs: Any, references: Any, config: TrainingConfig
) -> tuple[float, torch.Tensor]:
    """Run the fast functions on a batch; return the loss and its gradient."""
    rows = build_rows(groups, config)
    columns = TokenColumns(rows, torch.device("cpu"), torch.float64)

    def flat(values: Any) -> torch.Tensor:
        return torch.tensor([x for group in values for row in group for x in row], dtype=torch.float64)

    logp = flat(logprobs).requires_grad_()
    loss, _, _ = weighted_loss(
        logp,
        columns.sampled,
        columns.advantages,
        flat(references) if config.kl > 0 else None,
        surrogate_weights=columns.surrogate_weights,
        kl_means=columns.kl_means,
        config=config,
    )
    return loss.item(), torch.autograd.grad(loss, logp)[0]


def nearby(groups: list[Group], seed: int, spread: float) -> list[list[list[float]]]:
    noise = torch.Generator().manual_seed(seed)
    return [
        [
            [value + spread * torch.randn((), generator=noise).item() for value in sample.rollout.logprobs]
            for sample in group.samples
        ]
        for group in groups
    ]


configs = st.builds(
    TrainingConfig,
    aggregation=st.sampled_from(["role-token-mean", "token-mean", "sequence-mean", "dr-grpo"]),
    role_weighting=st.sampled_from(["loss", "advantage-scale"]),
    advantage_std=st.booleans(),
    kl=st.sampled_from([0.0, 1e-3, 0.5]),
    generator_weight=st.floats(0.05, 2.0),
    clip_low=st.floats(0.0, 0.9),
    clip_high=st.floats(0.0, 2.0),
    dual_clip=st.floats(3.5, 20.0),
    dr_grpo_tokens=st.integers(1, 4096),
)


@settings(max_examples=150, deadline=None)
@given(
    config=configs,
    seed=st.integers(0, 10_000),
    roles=st.lists(st.sampled_from(["solver", "generator"]), min_size=1, max_size=4),
    spread=st.sampled_from([0.01, 0.5, 3.0]),
)
def test_loss_equals_the_slow_loss(config: TrainingConfig, seed: int, roles: list[Role], spread: float) -> None:
    groups = random_groups(seed, roles=roles, longest=8)
    logprobs, references = nearby(groups, seed + 1, spread), nearby(groups, seed + 2, spread)
    fast, _ = batch_loss(groups, logprobs, references, config)
    assert fast == pytest.approx(slow_loss(groups, logprobs, references, config)["total"], rel=1e-9, abs=1e-12)


def test_gradient_equals_finite_differences_of_the_slow_loss() -> None:
    config = TrainingConfig(kl=0.3)
    groups = random_groups(5, longest=4)
    logprobs, references = nearby(groups, 6, 0.5), nearby(groups, 7, 0.5)
    _, gradient = batch_loss(groups, logprobs, references, config)
    found = []
    for row in [row for group in logprobs for row in group]:
        for index, value in enumerate(row):
            ends = []
            for step in (1e-6, -1e-6):
                row[index] = value + step
                ends.append(slow_loss(groups, logprobs, references, config)["total"])
            row[index] = value
            found.append((ends[0] - ends[1]) / 2e-6)
    assert gradient.tolist() == pytest.approx(found, abs=1e-7)


@pytest.mark.parametrize("settings", [{"dual_clip": 1.0}, {"clip_low": 1.0}, {"clip_high": -0.1}, {"kl": -1.0}])
def test_settings_without_meaning_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=f"training.{next(iter(settings))} = "):
        check_loss_config(TrainingConfig(**settings))
