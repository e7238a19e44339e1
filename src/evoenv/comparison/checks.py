"""What must be in place before a comparison begins."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence

from evoenv.comparison.plan import ComparisonPlan, config_of
from evoenv.config import Config
from evoenv.environment.sets import load_environments
from evoenv.errors import InputError
from evoenv.evaluation.overlap import environments_of, identities, in_words, shared_names
from evoenv.evaluation.protocol import open_suites
from evoenv.evaluation.suite import Suite
from evoenv.models.resolve import resolve_model
from evoenv.run import check_trainable

TRAINED_ON = ("fixed", "rlve", "evoenv")
"""Curricula that train on a set of environments."""


def check_plan(plan: ComparisonPlan, *, allow_overlap: bool = False) -> None:
    """Refuse before any work what no run could do, and runs that would train on what they are evaluated on."""
    first = {run.curriculum: run for run in reversed(plan.runs)}
    for run in first.values():
        config = config_of(run)
        check_trainable(config)
        if plan.tokens and config.training.schedule != "constant" and not config.training.schedule_steps:
            raise InputError(
                f"training.schedule is {config.training.schedule!r} and a budget of tokens says nothing of steps; say "
                "for how many updates it is made (--set training.schedule_steps=N), or compare by --steps"
            )
    suites = open_suites(plan.evaluation.plans, allow_degraded=plan.allow_degraded)
    if not allow_overlap:
        check_overlap([config_of(run) for run in first.values()], suites)
    resolve_model(plan.model)


def check_overlap(configs: Sequence[Config], suites: Sequence[Suite]) -> None:
    """Refuse runs that would train on environments of the suites that they are evaluated on."""
    if not any(environments_of(suite) for suite in suites):
        return
    trained: dict[str, list[str]] = {}
    for config in configs:
        if config.curriculum.name in TRAINED_ON:
            trained.setdefault(config.curriculum.environments, []).append(config.curriculum.name)
    for text, names in trained.items():
        known = identities(load_environments(text).values())
        shared = {suite.name: own for suite in suites if (own := shared_names(suite, known))}
        if shared:
            raise InputError(
                f"{' and '.join(dict.fromkeys(names))} would train on {in_words(shared)}; leave them out of training "
                "(evoenv import --exclude FILE, --held-out-of DIR), choose another --suite, or measure on what is "
                "trained on by --allow-overlap"
            )


def require_matplotlib() -> None:
    if importlib.util.find_spec("matplotlib") is None:
        raise InputError("matplotlib not found; install what figures need: pip install 'evoenv[report]'")
