"""The generator's reward: R_gen = Q_val(ℓ, â) + [ℓ ≥ 2]·γ·N; with `gated` rewards −½ for what cannot be admitted.

The review's verdict is no argument of any function here, so that the generator cannot be trained to please the
reviewer; that is the reason for this module being separate from `admission`. With `proven` rewards, which `admission`
knows, what programs compute from the prompts alone counts as well: to please them a question must ask for its answer.
"""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

Parts: TypeAlias = Literal["full", "gated", "proven", "without-quality", "without-diversity"]

FULL_LAYER = 5
NOVELTY_FROM_LAYER = 2
UNUSABLE = -0.5
"""With `gated` rewards all that a candidate gets which cannot be admitted, whatever a review says of it; with `proven`
ones all that one gets which is not valid or not new."""
UNPROVEN = 0.0
"""With `proven` rewards all that a candidate gets which is valid and new, and refused by the review or calibration."""
NOTHING_FOR_COPIES: tuple[Parts, ...] = ("gated", "proven")
"""Rewards that do not depend on the calibration of what the novelty gate refuses."""
_BELOW_FULL = {0: -1.0, 1: -0.5, 2: -0.25, 3: 0.0, 4: 0.0}


def q_unc(pass_rate: float, target: float = 0.3, sigma: float = 0.2) -> float:
    """Compute Q_unc(â) = exp(−(â − a*)² / 2σ²): 1 at the target pass rate, falling off on both sides."""
    return math.exp(-((pass_rate - target) ** 2) / (2.0 * sigma**2))


def q_val(layer: int, pass_rate: float | None, target: float = 0.3, sigma: float = 0.2) -> float:
    """Compute Q_val(ℓ, â); the pass rate counts, and must be known, only if ℓ = 5."""
    if layer != FULL_LAYER:
        return _BELOW_FULL[layer]
    if pass_rate is None:
        raise ValueError("q_val: a candidate of layer 5 has no pass rate; calibrate it before rewarding it")
    return q_unc(pass_rate, target, sigma)


def generator_reward(
    layer: int,
    pass_rate: float | None,
    novelty: float | None,
    gamma: float,
    target: float = 0.3,
    sigma: float = 0.2,
    parts: Parts = "full",
) -> float:
    """Compute R_gen; the novelty counts, and must be known, only if ℓ ≥ 2. The ablations leave out one of its parts."""
    quality = q_val(layer, pass_rate, target, sigma)
    if layer >= NOVELTY_FROM_LAYER and novelty is None:
        raise ValueError(f"generator_reward: a candidate of layer {layer} has no novelty; measure it first")
    diversity = gamma * novelty if layer >= NOVELTY_FROM_LAYER and novelty is not None else 0.0
    if parts == "without-quality":
        return diversity
    return quality if parts == "without-diversity" else quality + diversity
