"""Compute in tokens, counted alike for every curriculum: all that was sampled, in any role, and all trained on.

A token counts once for being sampled (proposals, reviews, calibrations, votes, solver responses, dropped ones
included) and once more for every pass in which it had a gradient. Prompts are not counted.
"""

from __future__ import annotations

from collections.abc import Mapping

from evoenv.config import Config
from evoenv.store.store import Store

SAMPLED, TRAINED = "tokens/sampled", "tokens/trained"
_BY_ROLE = ("tokens/solver", "tokens/generator")
"""The trainer's own counts: response tokens of groups that were not dropped."""


def trained_tokens(update: Mapping[str, float]) -> float:
    """Count the tokens that an update learnt from, by its metrics."""
    return sum(update.get(name, 0.0) for name in _BY_ROLE)


def tokens_spent(store: Store) -> int:
    """Count the tokens of all finished steps."""
    return round(sum(value for name in (SAMPLED, TRAINED) for _, value in store.metric(name)))


def is_finished(store: Store, config: Config) -> bool:
    """Return whether the configured steps are done, or the configured tokens used up."""
    if store.last_step() >= config.run.steps:
        return True
    return bool(config.run.tokens) and tokens_spent(store) >= config.run.tokens


def is_last(store: Store, config: Config, step: int, update: Mapping[str, float]) -> bool:
    """Return whether the run will be finished after `step`, asked right after its update."""
    if step >= config.run.steps:
        return True
    spent = tokens_spent(store) + sum(store.tokens(step).values()) + trained_tokens(update)
    return bool(config.run.tokens) and spent >= config.run.tokens
