"""Novelty, rewards and admissions of a whole batch, in one transaction."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Sequence

from evoenv.admission.admission import REASONS, Evaluated, decide_admissions
from evoenv.admission.novelty import Measured, gamma, similarities_among, update_repetition
from evoenv.admission.recomputation import recomputation_admits
from evoenv.admission.review import review_passes
from evoenv.records import Candidate, Decision, environment_id
from evoenv.stages.context import Run
from evoenv.stages.judgement import Judged
from evoenv.stages.measuring import measure
from evoenv.stages.synthesis import Proposed
from evoenv.store.store import Store

REPETITION, GAMMA = "novelty/repetition", "novelty/gamma"


def decide(run: Run, step: int, proposed: Proposed, judged: Judged) -> list[str]:
    """Find R_gen of every candidate and who enters the pool; return the environment ids of the admitted."""
    run.begin(step, "decided")
    if not run.store.stage_done(step, "decided"):
        began = time.perf_counter()
        measured, vectors = measure(run, proposed)
        config = run.config.novelty
        repetition = _repetition_before(run, step)
        if config.repetition_over == "batch":
            similarities = [item.novelty.batch_similarity for item in measured.values()]
            repetition = update_repetition(repetition, similarities, config)
        weight = gamma(repetition, config)
        batch = [_evaluated(run, candidate, proposed, judged, measured) for candidate in proposed.candidates]
        decisions = decide_admissions(batch, weight, run.config)
        if config.repetition_over == "admitted":
            admitted = [measured[item.candidate_id] for item in decisions if item.admitted]
            repetition = update_repetition(repetition, similarities_among(admitted, config.mix), config)
        with run.store.stage(step, "decided") as kept:
            run.store.add_vectors(vectors)
            run.store.add_novelties(step, {candidate_id: item.novelty for candidate_id, item in measured.items()})
            run.store.add_decisions(step, decisions)
            run.store.add_metrics(
                step, {REPETITION: repetition, GAMMA: weight, **_metrics(decisions, measured.values())}
            )
            run.store.add_metrics(step, {"time/decide": time.perf_counter() - began})
            kept["admitted"] = [item.candidate_id for item in decisions if item.admitted]
    return [environment_id(candidate.source or "") for candidate in admitted_candidates(run.store, step)]


def admitted_candidates(store: Store, step: int) -> list[Candidate]:
    """Return the candidates of a step that were admitted, by group and index."""
    admitted = {decision.candidate_id for decision in store.decisions(step) if decision.admitted}
    return [candidate for candidate in store.candidates(step) if candidate.id in admitted] if admitted else []


def _repetition_before(run: Run, step: int) -> float:
    """Return s̄ as the step before left it."""
    history = [value for at, value in run.store.metric(REPETITION) if at < step]
    return history[-1] if history else run.config.novelty.ema_start


def _evaluated(
    run: Run, candidate: Candidate, proposed: Proposed, judged: Judged, measured: dict[str, Measured]
) -> Evaluated:
    source_id = environment_id(candidate.source) if candidate.source is not None else ""
    calibration = judged.calibrations.get(candidate.id)
    review = run.config.review
    return Evaluated(
        candidate_id=candidate.id,
        environment_id=source_id,
        layer=proposed.reports[candidate.id].layer,
        review_passed=not review.enabled
        or recomputation_admits(
            judged.recomputations.get(candidate.id),
            review.kind,
            reading_accepts=review_passes(judged.reviews.get(candidate.id, ()), review.rule),
            admits=review.admits,
        ),
        pass_rate=None if calibration is None else calibration.pass_rate,
        asymmetry=judged.asymmetries.get(candidate.id),
        measured=measured.get(candidate.id),
        known=source_id in run.cache,
    )


def _metrics(decisions: Sequence[Decision], measured: Collection[Measured]) -> dict[str, float]:
    fates = Counter(item.reason for item in decisions)
    metrics = {f"fate/{reason}": float(fates[reason]) for reason in REASONS}
    if decisions:
        metrics["generator/reward"] = sum(item.reward for item in decisions) / len(decisions)
    if measured:
        metrics["novelty/mean"] = sum(item.novelty.novelty for item in measured) / len(measured)
    return metrics
