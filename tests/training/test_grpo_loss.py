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


def importance_loss(logp: torch.Tensor, old: list[float] | None, limit: float) -> Any:
    """The loss of three tokens, sampled at log-probability -1 with advantages 2, 2 and -1, each weighing 1."""
    return weighted_loss(
        logp,
        torch.full((3,), -1.0, dtype=torch.float64),
        torch.tensor([2.0, 2.0, -1.0], dtype=torch.float64),
        None,
        old=None if old is None else torch.tensor(old, dtype=torch.float64),
        surrogate_weights=torch.ones(3, dtype=torch.float64),
        kl_means=torch.zeros(3, dtype=torch.float64),
        config=TrainingConfig(truncated_importance=limit, kl=0.0),
    )


def test_truncated_importance_by_hand() -> None:
    # The trainer finds the tokens 1.5, 4 and 0.5 times as likely as the sampler; the second weight is cut to 2.
    before = [-1.0 + math.log(factor) for factor in (1.5, 4.0, 0.5)]
    # The update has since moved the first two up by 1.1 and 1.5, the third down to 0.9: the second is clipped.
    logp = torch.tensor([value + math.log(r) for value, r in zip(before, (1.1, 1.5, 0.9), strict=True)])
    logp = logp.double().requires_grad_()
    loss, surrogate, _ = importance_loss(logp, before, 2.0)
    assert surrogate.importance.tolist() == pytest.approx([1.5, 2.0, 0.5])
    assert surrogate.truncated.tolist() == [False, True, False]
    assert surrogate.ratio.tolist() == pytest.approx([1.1, 1.5, 0.9], rel=1e-6)
    assert surrogate.loss.tolist() == pytest.approx([-2 * 1.1 * 1.5, -2 * 1.28 * 2.0, 0.9 * 0.5], rel=1e-6)
    assert loss.item() == pytest.approx(-3.3 - 5.12 + 0.45, rel=1e-6)
    (gradient,) = torch.autograd.grad(loss, logp)
    assert gradient.tolist() == pytest.approx([-3.3, 0.0, 0.45], rel=1e-6), "none flows through the weight"


def test_truncated_importance_in_a_first_step_has_a_ratio_of_one() -> None:
    logp = torch.tensor([-1.0 + math.log(factor) for factor in (1.5, 4.0, 0.5)], dtype=torch.float64).requires_grad_()
    loss, surrogate, _ = importance_loss(logp, None, 2.0)
    assert surrogate.ratio.tolist() == [1.0, 1.0, 1.0]
    assert not surrogate.clipped_high.any(), "a difference between sampler and trainer is not the update's doing"
    assert loss.item() == pytest.approx(-2 * 1.5 - 2 * 2.0 + 0.5)
    (gradient,) = torch.autograd.grad(loss, logp)
    assert gradient.tolist() == pytest.approx([-3.0, -4.0, 0.5])


def test_without_truncated_importance_what_was_before_does_not_matter() -> None:
    logp = torch.tensor([-1.2, -0.9, -1.0], dtype=torch.float64)
    loss, surrogate, _ = importance_loss(logp, [-5.0, -5.0, -5.0], 0.0)
    assert surrogate.importance is None
    assert loss.item() == importance_loss(logp, None, 0.0)[0].item()


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
