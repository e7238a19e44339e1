"""The role-conditioned GRPO loss, as pure functions over tokens.

    L = L_solver + w_gen · L_generator + β · KL

**Per token**, with ρ = exp(logp − sampled logp) and A the advantage of the token's response:

- surrogate  l = max(−A·ρ, −A·clip(ρ, 1 − clip_low, 1 + clip_high)), and for A < 0 at most −A·dual_clip;
- k3 = exp(ref − logp) − (ref − logp) − 1, the low-variance estimator of KL(policy ‖ frozen reference).

ρ starts from the log-probabilities that were *really sampled*, not from a second pass over the model. As in
verl, log-differences are clamped to ±20 before `exp`, and k3 to at most 10: one token that ran away must not own the
whole gradient.

**Truncated importance sampling** (`truncated_importance` = C > 0) takes a sampler that computes otherwise than the
trainer out of ρ: ρ = exp(logp − old), with old the trainer's own log-probability before the update, and l is
multiplied by w = min(exp(old − sampled logp), C), through which no gradient flows. In the first optimiser step of an
update old is logp itself, so ρ = 1 and no clip holds.

The weights of tokens come with the batch (`objective`): within one response all tokens weigh the same, and shares of
any cut of a batch add up to L.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from evoenv.config import TrainingConfig
from evoenv.errors import ConfigError

LOG_RATIO_LIMIT = 20.0
KL_LIMIT = 10.0


@dataclass(frozen=True, slots=True)
class Surrogate:
    """Per token: the clipped loss, the ratio ρ, and whether each clip holds."""

    loss: Tensor
    ratio: Tensor
    clipped_low: Tensor
    clipped_high: Tensor
    clipped_dual: Tensor
    importance: Tensor | None = None
    """The weight w that `loss` was multiplied by; None without truncated importance sampling."""
    truncated: Tensor | None = None
    """Whether that weight was cut."""


def clipped_surrogate(
    logp: Tensor, sampled: Tensor, advantages: Tensor, *, clip_low: float, clip_high: float, dual_clip: float
) -> Surrogate:
    """Compute the PPO surrogate with separate clips and, for negative advantages, the dual clip."""
    ratio = (logp - sampled).clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT).exp()
    plain = -advantages * ratio
    clipped = -advantages * ratio.clamp(1.0 - clip_low, 1.0 + clip_high)
    single = torch.maximum(plain, clipped)
    ceiling = -advantages * dual_clip
    negative = advantages < 0
    loss = torch.where(negative, torch.minimum(single, ceiling), single)
    binds = clipped > plain
    return Surrogate(
        loss=loss,
        ratio=ratio.detach(),
        clipped_low=binds & negative,
        clipped_high=binds & ~negative,
        clipped_dual=(single > ceiling) & negative,
    )


def low_variance_kl(logp: Tensor, reference: Tensor) -> Tensor:
    """Compute k3 per token: never negative, zero with zero gradient if policy and reference agree."""
    difference = (reference - logp).clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT)
    return (difference.exp() - difference - 1.0).clamp(-KL_LIMIT, KL_LIMIT)


def weighted_by_importance(surrogate: Surrogate, old: Tensor, sampled: Tensor, limit: float) -> Surrogate:
    """Weight each token by how much likelier the trainer found it than the sampler, at most by `limit`."""
    weight = (old - sampled).clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT).exp()
    truncated = weight > limit
    weight = weight.clamp(max=limit)
    return replace(surrogate, loss=surrogate.loss * weight, importance=weight, truncated=truncated)


def weighted_loss(
    logp: Tensor,
    sampled: Tensor,
    advantages: Tensor,
    reference: Tensor | None,
    *,
    old: Tensor | None = None,
    surrogate_weights: Tensor,
    kl_means: Tensor,
    config: TrainingConfig,
) -> tuple[Tensor, Surrogate, Tensor | None]:
    """Compute some tokens' share of L, and the surrogate and k3 per token that it is made of. Shares add up to L.

    `old` is the trainer's log-probability before the update, for truncated importance sampling alone; None: the update
    has not changed anything yet, and it is `logp`.
    """
    limit = config.truncated_importance
    start = sampled
    if limit > 0:
        start = logp.detach() if old is None else old
    surrogate = clipped_surrogate(
        logp,
        start,
        advantages,
        clip_low=config.clip_low,
        clip_high=config.clip_high,
        dual_clip=config.dual_clip,
    )
    if limit > 0:
        surrogate = weighted_by_importance(surrogate, start, sampled, limit)
    loss = (surrogate.loss * surrogate_weights).sum()
    if reference is None:
        return loss, surrogate, None
    kl = low_variance_kl(logp, reference)
    return loss + config.kl * (kl * kl_means).sum(), surrogate, kl


def check_loss_config(config: TrainingConfig) -> None:
    """Refuse settings under which the formulas above mean nothing."""
    problems = [
        (config.dual_clip <= 1.0, f"training.dual_clip = {config.dual_clip}: expected more than 1; the paper has 10"),
        (
            not 0.0 <= config.clip_low < 1.0,
            f"training.clip_low = {config.clip_low}: expected 0 or more and below 1; the paper has 0.2",
        ),
        (config.clip_high < 0.0, f"training.clip_high = {config.clip_high}: expected 0 or more; the paper has 0.28"),
        (
            not 0.0 <= config.truncated_importance < math.inf,
            f"training.truncated_importance = {config.truncated_importance}: expected 0 (off) or more; 2 is common",
        ),
        (config.kl < 0.0, f"training.kl = {config.kl}: expected 0 or more; 0 drops the reference model"),
    ]
    for wrong, message in problems:
        if wrong:
            raise ConfigError(f"{message}.")
