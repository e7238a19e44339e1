"""What must be in place before a comparison begins."""

from __future__ import annotations

import importlib.util

from evoenv.comparison.plan import ComparisonPlan, config_of
from evoenv.errors import InputError
from evoenv.evaluation.protocol import open_suites
from evoenv.models.resolve import resolve_model
from evoenv.run import check_trainable


def check_plan(plan: ComparisonPlan) -> None:
    """Refuse before any work what no run could do: curricula, suites, model."""
    first = {run.curriculum: run for run in reversed(plan.runs)}
    for run in first.values():
        check_trainable(config_of(run))
    open_suites(plan.evaluation.plans, allow_degraded=plan.allow_degraded)
    resolve_model(plan.model)


def require_matplotlib() -> None:
    if importlib.util.find_spec("matplotlib") is None:
        raise InputError("matplotlib not found; install what figures need: pip install 'evoenv[report]'")
