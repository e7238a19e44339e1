"""`fixed`: solver groups on a fixed set of environments at one difficulty; no generator, nobody enters or leaves."""

from __future__ import annotations

from evoenv.records import Group
from evoenv.stages.context import Run
from evoenv.stages.groups import solver_groups
from evoenv.stages.solving import solve


def collect(run: Run, step: int) -> None:
    """Draw environments uniformly and solve; `solver.difficulty_rule` decides the level."""
    solve(run, step, run.store.pool(), ())


def groups(run: Run, step: int) -> list[Group]:
    return solver_groups(run.store, step)
