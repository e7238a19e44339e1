"""`untrained`: the model as it is. A step samples nothing and changes nothing."""

from __future__ import annotations

from evoenv.records import Group, StepSummary
from evoenv.stages.context import Run
from evoenv.stages.rotation import finish


def step(run: Run, step: int) -> StepSummary:
    pool = run.begin_step()
    return finish(run, step, pool, pool)


def groups(run: Run, step: int) -> list[Group]:
    return []
