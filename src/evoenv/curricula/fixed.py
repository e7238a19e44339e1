"""`fixed`: solver groups on a fixed set of environments at one difficulty; no generator, nobody enters or leaves."""

from __future__ import annotations

from evoenv.pool.state import after_step
from evoenv.records import Group, StepSummary
from evoenv.stages.context import Run
from evoenv.stages.learning import learn
from evoenv.stages.rotation import finish
from evoenv.stages.solving import solve, solved_groups


def step(run: Run, step: int) -> StepSummary:
    """Draw environments uniformly, solve, learn; with `solver.difficulty_rule` deciding the level."""
    pool = run.begin_step()
    solved = solve(run, step, pool, ())
    learn(run, step, solved.groups)
    return finish(run, step, pool, after_step(pool, (), solved.outcomes, run.config.solver.responses_per_prompt))


def groups(run: Run, step: int) -> list[Group]:
    return solved_groups(run.store, step).groups
