"""Group-relative advantages: rewards in, numbers out. No torch, no I/O.

A = (r − mean) / (std + 1e-6) within one group of samples of one prompt. `std` is the *sample* standard
deviation (divisor n − 1), as in verl and TRL, whose `torch.std` is unbiased by default; with n = 8 the population
one would make every advantage 7% larger. Groups are never merged, so roles are never mixed.

One departure from verl: there a group of one sample has the advantage r; here it has no variance and is
dropped, since nothing says whether r is much or little for its prompt.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from evoenv.errors import PolicyError
from evoenv.records import Group

EPSILON = 1e-6
VARIANCE_TOLERANCE = 1e-8
"""Rewards closer together than this are equal: rounding in a scorer is not a signal."""


def group_advantages(rewards: Sequence[float], *, std: bool = True, eps: float = EPSILON) -> list[float]:
    """One advantage per reward; all zero where the group has no variance. `std=False` is Dr. GRPO's."""
    for index, reward in enumerate(rewards):
        if not math.isfinite(reward):
            raise PolicyError(
                f"reward {index} of a group is {reward}, expected a finite number; "
                "score a response that could not be scored as 0 before the update."
            )
    if has_zero_variance(rewards):
        return [0.0] * len(rewards)
    mean = math.fsum(rewards) / len(rewards)
    centred = [reward - mean for reward in rewards]
    if not std:
        return centred
    deviation = math.sqrt(math.fsum(value * value for value in centred) / (len(rewards) - 1))
    return [value / (deviation + eps) for value in centred]


def has_zero_variance(rewards: Sequence[float]) -> bool:
    """Whether a group says nothing about which of its samples was better."""
    return len(rewards) < 2 or max(rewards) - min(rewards) <= VARIANCE_TOLERANCE


def drop_zero_variance(groups: Iterable[Group]) -> tuple[list[Group], list[Group]]:
    """(kept, dropped), each in the given order. A dropped group carries no gradient, so it pays no KL either."""
    kept: list[Group] = []
    dropped: list[Group] = []
    for group in groups:
        (dropped if has_zero_variance(group.rewards) else kept).append(group)
    return kept, dropped
