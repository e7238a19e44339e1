"""The pool after a step: the admitted enter, what was used long enough leaves."""

from __future__ import annotations

from collections.abc import Sequence

from evoenv.pool import state
from evoenv.pool.state import Outcome, PoolState
from evoenv.pool.tags import is_prototype, tags_of
from evoenv.records import Candidate, StepSummary, environment_id
from evoenv.stages.budget import SAMPLED, TRAINED, trained_tokens
from evoenv.stages.context import Run
from evoenv.stages.synthesis import Proposed
from evoenv.store.store import EnvironmentRecord


def rotate(
    run: Run, step: int, pool: PoolState, proposed: Proposed, admitted: Sequence[Candidate], outcomes: Sequence[Outcome]
) -> StepSummary:
    """P, S and C of the next step, and the step's summary."""
    entered = [_record(step, candidate, proposed) for candidate in admitted]
    after = state.after_step(pool, [record.id for record in entered], outcomes, run.config.solver.responses_per_prompt)
    after, retired = state.rotate(after, step, run.config.pool)
    return finish(run, step, pool, after, entered, retired)


def finish(
    run: Run,
    step: int,
    pool: PoolState,
    after: PoolState,
    entered: Sequence[EnvironmentRecord] = (),
    retired: Sequence[str] = (),
) -> StepSummary:
    """The last stage of every curriculum: with it the step is done."""
    run.begin(step, "rotated")
    prototypes = list(run.prototypes)
    for record in entered:
        if is_prototype(record.tags, prototypes):
            prototypes.append(record.tags)
    with run.store.stage(step, "rotated") as kept:
        run.store.add_environments(entered)
        run.store.update_pool(step, pool, after)
        kept["entered"] = [record.id for record in entered]
        kept["retired"] = list(retired)
        run.store.add_metrics(
            step,
            {
                "pool/active": len(after.active),
                "pool/few_shot": len(after.few_shot),
                "pool/admitted": len(after.admitted),
                "pool/retired": len(retired),
                "pool/original_share": after.original_share,
                "pool/prototypes": len(prototypes),
                **_levels(run, after),
                **_tokens(run, step),
            },
        )
        covered = run.store.last_checkpoint()
        if not run.training or covered is not None:
            run.store.drop_rollouts(covered[0] if run.training and covered else step)
        run.store.add_metrics(step, run.clock.metrics())
    run.prototypes = prototypes
    if entered:
        names = [record.id for record in entered]
        run.cache.add(names, *run.store.vectors(names))
    summary = StepSummary(step, run.store.metrics(step))
    run.observer.summary(summary)
    return summary


def _levels(run: Run, after: PoolState) -> dict[str, float]:
    """Where the adaptive levels of P are, if they move."""
    levels = [after.members[name].difficulty.level for name in after.active]
    if run.config.solver.difficulty_rule == "fixed" or not levels:
        return {}
    return {"levels/mean": sum(levels) / len(levels), "levels/max": float(max(levels))}


def _tokens(run: Run, step: int) -> dict[str, float]:
    """Tokens sampled, by what for; tokens trained on; and how fast, as far as this process sampled them."""
    tokens = run.store.tokens(step)
    metrics = {f"tokens/{purpose}": float(count) for purpose, count in tokens.items()}
    metrics[SAMPLED] = float(sum(tokens.values()))
    metrics[TRAINED] = trained_tokens(run.store.metrics(step))
    if run.clock.tokens:
        metrics["time/tokens_per_second"] = run.clock.tokens_per_second
    return metrics


def _record(step: int, candidate: Candidate, proposed: Proposed) -> EnvironmentRecord:
    source, report = candidate.source or "", proposed.reports[candidate.id]
    return EnvironmentRecord(
        id=environment_id(source),
        name=report.class_name or candidate.id,
        original=False,
        candidate_id=candidate.id,
        admitted_step=step,
        tags=tags_of(report.prompt_template, source),
    )
