"""One self-evolution iteration: the paper's Algorithm 1. Read this first.

    prompt ─► candidate ─► L1..L5 ─► review, calibration ─► novelty, reward, admission ─► solver groups ─► GRPO ─► pool

Every call below is one stage, and may be cut short at any point: asked again for the same step it continues where
the store says it was. What overlaps does so inside a stage (candidates are validated while others are still
being sampled; reviews and calibrations share one batch), so that this file can be read from top to bottom.
"""

from __future__ import annotations

from evoenv.records import StepSummary, environment_id
from evoenv.stages.admitting import decide, generator_groups
from evoenv.stages.context import Run
from evoenv.stages.judgement import judge
from evoenv.stages.learning import learn
from evoenv.stages.rotation import rotate
from evoenv.stages.solving import solve
from evoenv.stages.synthesis import synthesise


def evolve(run: Run, step: int) -> StepSummary:
    """Step t: from policy π_t and pools (P, S, C)_t to π_{t+1} and (P, S, C)_{t+1}."""
    pool = run.begin_step()

    # {e_i} ~ π(· | Prompt(S)); ℓ(e_i): how far each gets through the five layers
    proposed = synthesise(run, step, pool)

    # EvalEnv, for those at L5: K reviews (for admission only) and â, the pass rate of the current solver
    judged = judge(run, step, proposed)

    # EvalEnv, for all: R_gen = Q_val(ℓ, â) + [ℓ ≥ 2]·γ·N; and A, the admitted
    decisions = decide(run, step, proposed, judged)
    winners = {decision.candidate_id for decision in decisions if decision.admitted}
    admitted = [candidate for candidate in proposed.candidates if candidate.id in winners]

    # e ~ P ∪ A, (z, a) ~ G_e, x = Π_e(z), responses ~ π(· | x), scores S_e(y, z, a) by frozen code
    solved = solve(run, step, pool, [environment_id(candidate.source or "") for candidate in admitted])

    # θ ← GRPO(θ; D_generator, D_solver), advantages within each group, roles never mixed
    learn(run, step, [*generator_groups(run.store, step), *solved.groups])

    # (P, S, C) ← UpdatePool(P, S, C, A): the admitted enter, what was used long enough leaves
    return rotate(run, step, pool, proposed, admitted, solved.outcomes)
