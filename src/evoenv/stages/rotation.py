"""The end of a step: the admitted enter the pool, what was used long enough leaves, the step's numbers are kept."""

from __future__ import annotations

from collections.abc import Sequence

from evoenv.pool import state
from evoenv.pool.state import PoolState
from evoenv.pool.tags import is_prototype, tags_of
from evoenv.records import StepSummary, environment_id
from evoenv.stages.admitting import admitted_candidates
from evoenv.stages.budget import SAMPLED, TRAINED, trained_tokens
from evoenv.stages.context import Run
from evoenv.stages.curriculum import Curriculum
from evoenv.stages.solving import solver_outcomes
from evoenv.store.store import EnvironmentRecord, Store


def rotate(run: Run, step: int, curriculum: Curriculum) -> StepSummary:
    """Make P, S and C of the next step out of what this one left in the store; with it the step is done."""
    run.begin(step, "rotated")
    before = run.store.pool()
    entered = _admitted_records(run.store, step)
    after, retired = _pool_after(run, step, before, entered, curriculum)
    prototypes = list(run.prototypes)
    for record in entered:
        if is_prototype(record.tags, prototypes):
            prototypes.append(record.tags)
    with run.store.stage(step, "rotated") as kept:
        run.store.add_environments(entered)
        run.store.update_pool(step, before, after)
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
        environment_ids = [record.id for record in entered]
        run.cache.add(environment_ids, *run.store.vectors(environment_ids))
    summary = StepSummary(step, run.store.metrics(step))
    run.observer.summary(summary)
    return summary


def _pool_after(
    run: Run, step: int, before: PoolState, entered: Sequence[EnvironmentRecord], curriculum: Curriculum
) -> tuple[PoolState, tuple[str, ...]]:
    """Return the pool after the step, and the ids of the environments that leave it."""
    if not curriculum.environments:
        return before, ()
    responses = run.config.solver.responses_per_prompt
    after = state.after_step(before, [record.id for record in entered], solver_outcomes(run.store, step), responses)
    return state.rotate(after, step, run.config.pool) if curriculum.rotates else (after, ())


def _levels(run: Run, after: PoolState) -> dict[str, float]:
    """Return the mean and the largest adaptive level of P, if levels move."""
    levels = [after.members[member_id].difficulty.level for member_id in after.active]
    if run.config.solver.difficulty_rule == "fixed" or not levels:
        return {}
    return {"levels/mean": sum(levels) / len(levels), "levels/max": float(max(levels))}


def _tokens(run: Run, step: int) -> dict[str, float]:
    """Count tokens sampled, by purpose, and tokens trained on; and how fast, as far as this process sampled them."""
    tokens = run.store.tokens(step)
    metrics = {f"tokens/{purpose}": float(count) for purpose, count in tokens.items()}
    metrics[SAMPLED] = float(sum(tokens.values()))
    metrics[TRAINED] = trained_tokens(run.store.metrics(step))
    if run.clock.tokens:
        metrics["time/tokens_per_second"] = run.clock.tokens_per_second
    return metrics


def _admitted_records(store: Store, step: int) -> list[EnvironmentRecord]:
    """Return the admitted candidates of a step as environments of the pool, by group and index."""
    candidates = admitted_candidates(store, step)
    reports = store.reports(step) if candidates else {}
    records = []
    for candidate in candidates:
        source, report = candidate.source or "", reports[candidate.id]
        records.append(
            EnvironmentRecord(
                id=environment_id(source),
                name=report.class_name or candidate.id,
                original=False,
                candidate_id=candidate.id,
                admitted_step=step,
                tags=tags_of(report.prompt_template, source),
            )
        )
    return records
