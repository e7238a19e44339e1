"""One self-evolution iteration: the paper's Algorithm 1. Read this first.

    prompt ─► candidate ─► L1..L5 ─► review, calibration ─► novelty, reward, admission ─► solver groups ─► GRPO ─► pool

A step collects (`collect`), trains on what it collected (`groups`), and moves the pool (`evolve` does all three).
Every call below is one stage, and may be cut short at any point: asked again for the same step it continues where
the store says it was. Candidates are validated while others are still being sampled; with `engine.overlap` requests of
later stages are sent early, too (`evoenv.stages.ahead`). Neither changes a result, so this file can be read from top
to bottom.
"""

from __future__ import annotations

from evoenv.records import Group, StepSummary
from evoenv.stages.admitting import decide
from evoenv.stages.ahead import overlapping
from evoenv.stages.context import Run
from evoenv.stages.curriculum import Curriculum
from evoenv.stages.groups import generator_groups, solver_groups
from evoenv.stages.judgement import judge
from evoenv.stages.learning import learn
from evoenv.stages.rotation import rotate
from evoenv.stages.solving import solve
from evoenv.stages.synthesis import synthesise


def collect(run: Run, step: int) -> None:
    """Sample and decide, as π_t and the pools (P, S, C)_t are: all of a step that comes before learning."""
    pool = run.store.pool()

    with overlapping(run, step, pool):  # a later stage may ask early for what it will ask for anyway
        # {e_i} ~ π(· | Prompt(S)); ℓ(e_i): how far each gets through the five layers
        proposed = synthesise(run, step, pool)

        # EvalEnv, for those at L5: K reviews (for admission only) and â, the pass rate of the current solver
        judged = judge(run, step, proposed)

        # EvalEnv, for all: R_gen = Q_val(ℓ, â) + [ℓ ≥ 2]·γ·N; and A, the admitted
        admitted = decide(run, step, proposed, judged)

        # e ~ P ∪ A, (z, a) ~ G_e, x = Π_e(z), responses ~ π(· | x), scores S_e(y, z, a) by frozen code
        solve(run, step, pool, admitted)


def groups(run: Run, step: int) -> list[Group]:
    """Return D_generator and D_solver, read back from the store."""
    return [*generator_groups(run.store, step), *solver_groups(run.store, step)]


EVOENV = Curriculum("evoenv", collect, groups, rotates=True)


def evolve(run: Run, step: int, curriculum: Curriculum = EVOENV) -> StepSummary:
    """Take step t: from policy π_t and pools (P, S, C)_t to π_{t+1} and (P, S, C)_{t+1}.

    The other curricula (`evoenv.curricula`) go the same way: they collect something else and train on that.
    """
    run.begin_step()
    curriculum.collect(run, step)

    # θ ← GRPO(θ; D_generator, D_solver), advantages within each group, roles never mixed
    if curriculum.trains:
        learn(run, step, curriculum.groups(run, step))

    # (P, S, C) ← UpdatePool(P, S, C, A): the admitted enter, what was used long enough leaves
    return rotate(run, step, curriculum)
