"""The role-conditioned GRPO loss, as pure functions over tokens.

    L = L_solver + w_gen · L_generator + β · KL

**Per token**, with ρ = exp(logp − sampled logp) and A the advantage of the token's response:

- surrogate  l = max(−A·ρ, −A·clip(ρ, 1 − clip_low, 1 + clip_high)), and for A < 0 at most −A·dual_clip;
- k3 = exp(ref − logp) − (ref − logp) − 1, the low-variance estimator of KL(policy ‖ frozen reference).

ρ starts from the log-probabilities that were *really sampled*, not from a second pass over the model. As in
verl, log-differences are clamped to ±20 before `exp`, and k3 to at most 10: one token that ran away must not own the
whole gradient.

**Averages.** Within one response all tokens weigh the same, so an aggregation is one number per response. T, N
count response tokens and responses of the batch after dropping zero-variance groups, T_r, N_r those of one
role, n_i is a response's length, C is `dr_grpo_tokens`:

| `aggregation`     | `role_weighting="loss"`: role r's average | `"advantage-scale"`: shared | KL         |
|-------------------|-------------------------------------------|-----------------------------|------------|
| `role-token-mean` | Σ l / T_r                                 | Σ l / T                     | Σ k3 / T   |
| `token-mean`      | Σ l / T                                   | Σ l / T                     | Σ k3 / T   |
| `sequence-mean`   | Σ (Σ l / n_i) / N_r                       | Σ (Σ l / n_i) / N           | same, / N  |
| `dr-grpo`         | Σ l / (C·N_r)                             | Σ l / (C·N)                 | Σ k3/(C·N) |

- `role-token-mean` with `loss` is SPEC's loss: both roles count whatever their lengths, and w_gen says how much.
- `advantage-scale` is what the paper's table calls w_gen: it multiplies the generator's advantages under one mean over
  both roles. The surrogate is homogeneous in A, so this differs from `loss` in the denominators alone, and in that
  the role with more tokens weighs more: at eight times the solver's tokens, a generator weighted 0.3 outweighs it.
- `token-mean` is DAPO's: the mean is shared already, so both weightings give the same number.
- `sequence-mean` is the original GRPO: long responses are diluted. verl: `seq-mean-token-mean`; TRL: `grpo`.
- `dr-grpo` divides by constants only, and its advantages are not divided by the standard deviation.
  verl: `seq-mean-token-sum-norm`; TRL: `dr_grpo`.

KL is one mean over *all* response tokens of the batch, unweighted by w_gen: it holds one policy to one reference,
and does not know roles.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from evoenv.config import TrainingConfig
from evoenv.errors import ConfigError
from evoenv.records import Role

LOG_RATIO_LIMIT = 20.0
KL_LIMIT = 10.0
ALL_ROLES = "all roles"


@dataclass(frozen=True, slots=True)
class Surrogate:
    """Per token: the clipped loss, the ratio ρ, and where which clip holds."""

    loss: Tensor
    ratio: Tensor
    clipped_low: Tensor
    clipped_high: Tensor
    clipped_dual: Tensor


def clipped_surrogate(
    logp: Tensor, sampled: Tensor, advantages: Tensor, *, clip_low: float, clip_high: float, dual_clip: float
) -> Surrogate:
    """The PPO surrogate with separate clips and, for negative advantages, the dual clip."""
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
    """k3 per token: never negative, zero with zero gradient where policy and reference agree."""
    difference = (reference - logp).clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT)
    return (difference.exp() - difference - 1.0).clamp(-KL_LIMIT, KL_LIMIT)


@dataclass(frozen=True, slots=True)
class ResponseWeight:
    """What each token of one response adds: `mean · role_factor · l + kl_mean · β · k3`."""

    mean: float
    """The token's share in its role's average (the table above)."""
    role_factor: float
    """1 for the solver, w_gen for the generator."""
    kl_mean: float
    """The token's share in the KL average."""


def response_weights(roles: Sequence[Role], lengths: Sequence[int], config: TrainingConfig) -> list[ResponseWeight]:
    """The weights of a whole batch, up front: no split into micro-batches can change them.

    A response without tokens adds nothing and is not counted.
    """
    shared = config.role_weighting == "advantage-scale" or config.aggregation == "token-mean"
    counts: Counter[str] = Counter()
    tokens: Counter[str] = Counter()
    for role, length in zip(roles, lengths, strict=True):
        for pool in (role, ALL_ROLES):
            counts[pool] += length > 0
            tokens[pool] += length
    weights = []
    for role, length in zip(roles, lengths, strict=True):
        if length == 0:
            weights.append(ResponseWeight(0.0, 0.0, 0.0))
            continue
        pool = ALL_ROLES if shared else role
        match config.aggregation:
            case "role-token-mean" | "token-mean":
                mean, kl = 1.0 / tokens[pool], 1.0 / tokens[ALL_ROLES]
            case "sequence-mean":
                mean, kl = 1.0 / (counts[pool] * length), 1.0 / (counts[ALL_ROLES] * length)
            case "dr-grpo":
                mean, kl = (1.0 / (counts[key] * config.dr_grpo_tokens) for key in (pool, ALL_ROLES))
        factor = config.generator_weight if role == "generator" else 1.0
        weights.append(ResponseWeight(mean, factor, kl))
    return weights


def weighted_loss(
    logp: Tensor,
    sampled: Tensor,
    advantages: Tensor,
    reference: Tensor | None,
    *,
    surrogate_weights: Tensor,
    kl_means: Tensor,
    config: TrainingConfig,
) -> tuple[Tensor, Surrogate, Tensor | None]:
    """Some tokens' share of L, with the surrogate and k3 per token that it is made of. Shares add up to L."""
    surrogate = clipped_surrogate(
        logp,
        sampled,
        advantages,
        clip_low=config.clip_low,
        clip_high=config.clip_high,
        dual_clip=config.dual_clip,
    )
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
        (config.kl < 0.0, f"training.kl = {config.kl}: expected 0 or more; 0 drops the reference model"),
        (config.generator_weight < 0.0, f"training.generator_weight = {config.generator_weight}: expected 0 or more"),
        (config.dr_grpo_tokens < 1, f"training.dr_grpo_tokens = {config.dr_grpo_tokens}: expected 1 or more"),
    ]
    for wrong, message in problems:
        if wrong:
            raise ConfigError(f"{message}.")
