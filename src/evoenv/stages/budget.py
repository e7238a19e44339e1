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


def first_step_with(store: Store, tokens: int) -> int | None:
    """Find the step after which the run had spent this many tokens; None if it has not yet, or for 0."""
    if not tokens:
        return None
    by_step: dict[int, float] = {}
    for name in (SAMPLED, TRAINED):
        for step, value in store.metric(name):
            by_step[step] = by_step.get(step, 0.0) + value
    spent = 0.0
    for step in sorted(by_step):
        spent += by_step[step]
        if spent >= tokens:
            return step
    return None


def is_finished(store: Store, config: Config) -> bool:
    """Return whether the configured steps are done, or the configured tokens used up."""
    return _is_used_up(config, store.last_step(), tokens_spent(store))


def is_last(store: Store, config: Config, step: int, update: Mapping[str, float]) -> bool:
    """Return whether the run will be finished after `step`, asked right after its update."""
    spent = tokens_spent(store) + sum(store.tokens(step).values()) + trained_tokens(update)
    return _is_used_up(config, step, spent)


def _is_used_up(config: Config, steps: int, tokens: float) -> bool:
    run = config.run
    if run.tokens and tokens >= run.tokens:
        return True
    return steps >= run.steps and tokens >= run.tokens_at_least
