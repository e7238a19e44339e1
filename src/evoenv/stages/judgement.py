"""Review and calibration of those that reached L5: one batch of requests for all of it, over all candidates."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import get_args

from evoenv.admission.calibration import calibrate, calibration_seeds
from evoenv.admission.recomputation import asymmetry_of, recomputation_of
from evoenv.admission.review import read_review
from evoenv.admission.reward import NOTHING_FOR_COPIES
from evoenv.environment.answers import extract_answer
from evoenv.evaluation.programs import ProgramGrader
from evoenv.ids import CandidateId
from evoenv.pool.state import starting_level
from evoenv.prompts.review import ScoredAnswer
from evoenv.prompts.solver import solver_messages
from evoenv.records import (
    Calibration,
    Candidate,
    Instance,
    Message,
    Recomputation,
    RecomputationVerdict,
    Request,
    Review,
    Sample,
    Score,
    ValidationReport,
    derive_seed,
    environment_id,
)
from evoenv.stages.context import Run
from evoenv.stages.cores import on_all_cores
from evoenv.stages.measuring import already_known
from evoenv.stages.recomputing import Recomputing, prepare_recomputing, program_of, recompute
from evoenv.stages.reviewing import fitting_review, review_instances, review_probes
from evoenv.stages.sampling import ask, prompt_tokens
from evoenv.stages.synthesis import Proposed
from evoenv.store.store import RequestRecord, SampleKey


@dataclass(frozen=True, slots=True)
class Judged:
    """Reviews and calibrations by candidate id; only of those that reached L5."""

    reviews: dict[str, tuple[Review, ...]]
    calibrations: dict[str, Calibration]
    recomputations: dict[str, Recomputation] = field(default_factory=dict)
    asymmetries: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Case:
    """A finalist made ready: what the reviewer sees, what programs are asked for and what the solver is asked."""

    id: CandidateId
    source: str
    review: tuple[Instance, ...]
    probes: tuple[ScoredAnswer, ...]
    seeds: tuple[int, ...]
    calibration: tuple[Instance | None, ...]
    level: int
    recomputing: Recomputing | None = None
    known: bool = False
    """Refused by the novelty gate whatever is said of it, and so not reviewed (`novelty.first`)."""


def judge(run: Run, step: int, proposed: Proposed) -> Judged:
    """Get K reviews or K programs, or both, and â for every finalist."""
    run.begin(step, "reviewed")
    if not run.store.stage_done(step, "calibrated"):
        began = time.perf_counter()
        cases = _cases(run, step, proposed)
        asked = [item for case in cases for item in case_requests(run, case)]
        said = {(sample.request_id, sample.index): sample for sample in ask(run, step, "reviewed", asked)}
        if run.conversation is not None:  # what follows up to the solver's groups asks for nothing
            run.conversation.release()
        if not run.store.stage_done(step, "reviewed"):
            began_running = time.perf_counter()
            recomputations = _recomputations(run, [case for case in cases if not case.known], said)
            running = {"time/recompute": time.perf_counter() - began_running} if recomputations else {}
            with run.store.stage(step, "reviewed"):
                run.store.add_reviews(step, {str(case.id): _reviews(case, said) for case in cases})
                run.store.add_recomputations(step, recomputations)
                run.store.add_metrics(step, {**_recompute_metrics(recomputations), **running})
        run.observer.stage(step, "calibrated")
        scores = _scores(run, step, cases, said)
        calibrations = {str(case.id): _calibration(run, case, scores) for case in cases if case.seeds}
        with run.store.stage(step, "calibrated"):
            run.store.add_calibrations(step, calibrations)
            asymmetries = _asymmetries(run.store.recomputations(step), calibrations)
            run.store.add_asymmetries(step, asymmetries)
            run.store.add_metrics(step, {**_metrics(calibrations), **_asymmetry_metrics(asymmetries)})
            run.store.add_metrics(step, {"time/judge": time.perf_counter() - began})
    return Judged(
        run.store.reviews(step),
        run.store.calibrations(step),
        run.store.recomputations(step),
        run.store.asymmetries(step),
    )


def _cases(run: Run, step: int, proposed: Proposed) -> list[Case]:
    finalists = [(candidate, proposed.reports[candidate.id]) for candidate in proposed.finalists]
    if run.ahead is not None:
        return run.ahead.cases(finalists)
    return list(on_all_cores(run, "judge", lambda finalist: prepare_case(run, step, *finalist), finalists))


def case_requests(run: Run, case: Case) -> list[RequestRecord]:
    """List all that is asked about a finalist."""
    return [*_review_request(run, case), *_recompute_request(run, case), *_calibration_requests(run, case)]


def prepare_case(run: Run, step: int, candidate: Candidate, report: ValidationReport) -> Case:
    """Draw fresh instances and probe the scorer, all in the candidate's own worker."""
    assert candidate.source is not None, "a candidate without source cannot have reached L5"
    source_id = environment_id(candidate.source)
    level = starting_level(run.config.solver)
    known = run.config.novelty.first and already_known(run, candidate, report.prompt_template)
    rewarded = run.training and run.config.generator.reward not in NOTHING_FOR_COPIES
    calibrates = run.config.calibration.enabled and (rewarded or not known)
    count = run.config.calibration.instances if calibrates else 0
    seeds = calibration_seeds(run.seed, source_id, step, count)
    with run.workers.worker(candidate.source) as worker:
        drawn = worker.instances(seeds, level) if seeds else ()
        calibration = tuple(instance if fits_solver(run, instance) else None for instance in drawn)
        instances: tuple[Instance, ...] = ()
        probes: tuple[ScoredAnswer, ...] = ()
        if run.config.review.reads and not known:
            review_seeds = (
                derive_seed(run.seed, source_id, "review", step, 0),
                derive_seed(run.seed, source_id, "review", step, 1),
            )
            instances = review_instances(worker, review_seeds, level)
            probes = review_probes(run.sandbox, candidate.source, worker, instances)
        recomputing = None
        if run.config.review.recomputes and not known:
            recomputing = prepare_recomputing(
                worker, source_id, sorted({0, level}), run.config.review.program_instances,
                run.config.review.program_gets, run.seed, step,
            )  # fmt: skip
    return Case(
        CandidateId.parse(candidate.id), candidate.source, instances, probes, seeds, calibration, level, recomputing,
        known,
    )  # fmt: skip


def _review_request(run: Run, case: Case) -> list[RequestRecord]:
    config = run.config.review
    messages = _fitting_review(run, case) if config.reads and not case.known else None
    if messages is None:
        return []
    request = Request(
        id=str(case.id.review),
        role="reviewer",
        messages=messages,
        count=1 if config.rule == "single" else config.reviews,
        temperature=config.temperature,
        max_tokens=config.max_tokens,
        seed=derive_seed(run.seed, "review", str(case.id)),
    )
    return [RequestRecord(request, "review", subject=str(case.id))]


def _fitting_review(run: Run, case: Case) -> tuple[Message, ...] | None:
    return fitting_review(
        case.source,
        case.review,
        case.probes,
        lambda messages: prompt_tokens(run, messages),
        run.config.review.max_prompt_tokens,
    )


def _recompute_request(run: Run, case: Case) -> list[RequestRecord]:
    """Ask for programs; a prompt that is too long is not asked, and the candidate stays unconfirmed."""
    config = run.config.review
    if case.recomputing is None:
        return []
    seed = derive_seed(run.seed, "recompute", str(case.id))
    request = case.recomputing.request(str(case.id.recompute), config, seed)
    if prompt_tokens(run, request.messages) > config.max_prompt_tokens:
        return []
    return [RequestRecord(request, "recompute", subject=str(case.id))]


def fits_solver(run: Run, instance: Instance | None) -> bool:
    """Return whether the instance exists and its prompt is short enough for the solver."""
    if instance is None:
        return False
    return prompt_tokens(run, solver_messages(instance.prompt)) <= run.config.solver.max_prompt_tokens


def _calibration_requests(run: Run, case: Case) -> list[RequestRecord]:
    """Ask for one response per instance; one that could not be made, or is too long to be shown, scores 0 unasked."""
    config = run.config.solver
    return [
        RequestRecord(
            Request(
                id=str(case.id.calibration(index)),
                role="solver",
                messages=solver_messages(instance.prompt),
                temperature=config.temperature,
                top_p=config.top_p,
                max_tokens=config.max_tokens,
                seed=derive_seed(run.seed, "calibrate", str(case.id), index),
            ),
            "calibrate",
            subject=str(case.id),
            seed=instance.seed,
            difficulty=instance.difficulty,
        )
        for index, instance in enumerate(case.calibration)
        if instance is not None
    ]


def _recomputations(run: Run, cases: Sequence[Case], said: Mapping[SampleKey, Sample]) -> dict[str, Recomputation]:
    """Run the programs of all candidates, on all cores."""
    if not run.config.review.recomputes:
        return {}

    def recompute_case(case: Case) -> Recomputation:
        if case.recomputing is None:
            return recomputation_of((), ())
        request_id = str(case.id.recompute)
        samples = sorted((index, sample) for (about, index), sample in said.items() if about == request_id)
        programs = [program_of(sample.text, sample.finish_reason) for _, sample in samples]
        with run.workers.worker(case.source) as worker:
            return recompute(case.recomputing, programs, worker, grader)

    with ProgramGrader(allow_degraded=run.sandbox.allow_degraded) as grader:
        recomputations = on_all_cores(run, "recompute", recompute_case, cases)
        return {str(case.id): item for case, item in zip(cases, recomputations, strict=True)}


def _recompute_metrics(recomputations: Mapping[str, Recomputation]) -> dict[str, float]:
    if not recomputations:
        return {}
    verdicts = Counter(item.verdict for item in recomputations.values())
    metrics = {f"recompute/{verdict}": float(verdicts[verdict]) for verdict in get_args(RecomputationVerdict)}
    metrics["recompute/right"] = sum(item.right for item in recomputations.values()) / len(recomputations)
    return metrics


def _asymmetries(
    recomputations: Mapping[str, Recomputation], calibrations: Mapping[str, Calibration]
) -> dict[str, float]:
    asymmetries = {
        candidate_id: asymmetry_of(recomputation, calibrations[candidate_id].pass_rate)
        for candidate_id, recomputation in recomputations.items()
        if candidate_id in calibrations
    }
    return {candidate_id: value for candidate_id, value in asymmetries.items() if value is not None}


def _asymmetry_metrics(asymmetries: Mapping[str, float]) -> dict[str, float]:
    return {"recompute/asymmetry": sum(asymmetries.values()) / len(asymmetries)} if asymmetries else {}


def _reviews(case: Case, said: Mapping[SampleKey, Sample]) -> tuple[Review, ...]:
    request_id = str(case.id.review)
    samples = sorted((index, sample) for (about, index), sample in said.items() if about == request_id)
    return tuple(read_review(sample.text, sample.finish_reason) for _, sample in samples)


def _scores(run: Run, step: int, cases: Sequence[Case], said: Mapping[SampleKey, Sample]) -> dict[SampleKey, Score]:
    """Score every calibration response, each candidate in its own worker, all cores at work."""
    known = run.store.scores(step, "calibrate")

    def score_case(case: Case) -> dict[SampleKey, Score]:
        items: dict[SampleKey, tuple[int, str]] = {}
        for index, instance in enumerate(case.calibration):
            key = (str(case.id.calibration(index)), 0)
            if instance is not None and key in said and said[key].finish_reason != "error" and key not in known:
                items[key] = (instance.seed, said[key].text)
        return score_responses(run, case.source, {key: (seed, case.level, text) for key, (seed, text) in items.items()})

    for scores in on_all_cores(run, "score", score_case, cases):
        run.store.add_scores(step, scores)
        known.update(scores)
    return known


def score_responses(
    run: Run, source: str, responses: Mapping[SampleKey, tuple[int, int, str]]
) -> dict[SampleKey, Score]:
    """Score (seed, difficulty, response) by key; a response without a final answer scores 0."""
    return score_answers(
        run, source, {key: (seed, level, extract_answer(text)) for key, (seed, level, text) in responses.items()}
    )


def score_answers(
    run: Run, source: str, answers: Mapping[SampleKey, tuple[int, int, str | None]]
) -> dict[SampleKey, Score]:
    """Score (seed, difficulty, final answer) by key; none scores 0."""
    scores: dict[SampleKey, Score] = {}
    items: list[tuple[int, int, str]] = []
    asked: list[SampleKey] = []
    for key, (seed, difficulty, answer) in answers.items():
        if answer is None:
            scores[key] = Score(0.0, format_ok=False)
        else:
            asked.append(key)
            items.append((seed, difficulty, answer))
    if items:
        scores.update(zip(asked, run.workers.score(source, items), strict=True))
    return scores


def _calibration(run: Run, case: Case, scores: Mapping[SampleKey, Score]) -> Calibration:
    """Count what was answered: a response that a server refused or lost says nothing about the candidate."""
    counted: list[float] = []
    for index, instance in enumerate(case.calibration):
        key = (str(case.id.calibration(index)), 0)
        if key in scores:
            counted.append(scores[key].value)
        elif instance is None:  # what cannot be generated cannot be solved
            counted.append(0.0)
    return calibrate(counted, run.config.calibration)


def _metrics(calibrations: Mapping[str, Calibration]) -> dict[str, float]:
    rates = [item.pass_rate for item in calibrations.values()]
    return {"calibration/pass_rate": sum(rates) / len(rates)} if rates else {}
