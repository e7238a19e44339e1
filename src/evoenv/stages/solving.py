"""Solver groups on P ∪ just admitted: instances, responses, scores by frozen code."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from evoenv.admission.calibration import FULLY_RIGHT
from evoenv.environment.answers import extract_answer
from evoenv.ids import SolverRequestId
from evoenv.objective import has_zero_variance
from evoenv.pool.state import Draw, Outcome, PoolState, draw, instance_seed
from evoenv.prompts.solver import solver_messages
from evoenv.records import Instance, Message, Request, Score, derive_seed
from evoenv.stages.context import Run
from evoenv.stages.cores import on_all_cores
from evoenv.stages.groups import solver_groups
from evoenv.stages.judgement import fits_solver, score_answers
from evoenv.stages.sampling import ask
from evoenv.store.store import RequestRecord, SampleKey, Store

ATTEMPTS = 4
"""A rare seed may break an admitted environment; the draw then takes another instance of it."""


def solve(run: Run, step: int, pool: PoolState, admitted: Sequence[str]) -> None:
    """Draw environments of the pool and of the just `admitted`, make instances, sample responses and score them."""
    run.begin(step, "solved")
    if run.store.stage_done(step, "solved"):
        return
    began = time.perf_counter()
    count = run.config.solver.prompts if run.training else 0
    draws = draw(pool, admitted, step, count, run.seed, run.config.solver)
    instances = _instances(run, step, draws)
    asked = [draw_request(run, step, index, draws[index], instance) for index, instance in instances.items()]
    # The texts are in the store: a step's responses may have millions of tokens, and only their answers are scored.
    answers = {
        (sample.request_id, sample.index): extract_answer(sample.text) for sample in ask(run, step, "solved", asked)
    }
    _score(run, step, asked, answers)
    with run.store.stage(step, "solved"):
        run.store.add_metrics(step, solver_metrics(run.store, step))
        run.store.add_metrics(
            step, {"solver/lost_draws": count - len(instances), "time/solve": time.perf_counter() - began}
        )


def solver_outcomes(store: Store, step: int) -> list[Outcome]:
    """Summarise the solver's groups for the pool: how each environment that was drawn went."""
    requests = store.requests(step, "solve")
    outcomes: list[Outcome] = []
    for group in solver_groups(store, step):
        subject, _, difficulty = requests[group.id]
        right = sum(reward >= FULLY_RIGHT for reward in group.rewards)
        outcomes.append(Outcome(subject or "", difficulty or 0, right, len(group.rewards)))
    return outcomes


def _instances(run: Run, step: int, draws: Sequence[Draw]) -> dict[int, Instance]:
    """Make an instance for each draw, by its index; none if its environment fails (or overflows) every time."""
    instances, made_early = ({}, set()) if run.ahead is None else run.ahead.instances(draws)
    left = {index: item for index, item in enumerate(draws) if index not in made_early}
    work = by_environment(run, left)
    for made in on_all_cores(run, "draw", lambda item: make_instances(run, step, *item), work):
        instances.update(made)
    return dict(sorted(instances.items()))


def by_environment(run: Run, draws: Mapping[int, Draw]) -> list[tuple[str, dict[int, Draw]]]:
    """Sort draws by environment, whose source goes with them."""
    sorted_draws: dict[str, dict[int, Draw]] = {}
    for index, item in draws.items():
        sorted_draws.setdefault(item.environment_id, {})[index] = item
    return [(run.store.source(environment_id) or "", own) for environment_id, own in sorted_draws.items()]


def make_instances(run: Run, step: int, source: str, draws: Mapping[int, Draw]) -> dict[int, Instance]:
    """Make the instances of one environment; only those that can be made and shown are returned."""
    made: dict[int, Instance] = {}
    with run.workers.worker(source) as worker:
        for attempt in range(ATTEMPTS):
            for level in sorted({item.difficulty for item in draws.values()}):
                left = [index for index, item in draws.items() if item.difficulty == level and index not in made]
                seeds = [instance_seed(run.seed, draws[index].environment_id, step, index, attempt) for index in left]
                for index, instance in zip(left, worker.instances(seeds, level), strict=True):
                    if instance is not None and fits_solver(run, instance):
                        made[index] = instance
    return made


def solver_request(run: Run, request_id: str, messages: tuple[Message, ...], step: int, index: int) -> Request:
    """Ask for a group of the solver's responses: the `index`-th of a step."""
    config = run.config.solver
    return Request(
        id=request_id,
        role="solver",
        messages=messages,
        count=config.responses_per_prompt,
        temperature=config.temperature,
        top_p=config.top_p,
        max_tokens=config.max_tokens,
        seed=derive_seed(run.seed, "solver", step, index),
        trains=run.training,
    )


def draw_request(run: Run, step: int, index: int, drawn: Draw, instance: Instance) -> RequestRecord:
    """Ask for the group of one draw."""
    messages = solver_messages(instance.prompt)
    request = solver_request(run, str(SolverRequestId(step, index)), messages, step, index)
    return RequestRecord(request, "solve", drawn.environment_id, instance.seed, instance.difficulty)


def _score(run: Run, step: int, asked: Sequence[RequestRecord], answers: Mapping[SampleKey, str | None]) -> None:
    """Score the answers that are not scored yet, one environment per thread."""
    known = run.store.scores(step, "solve")
    work: dict[str, dict[SampleKey, tuple[int, int, str | None]]] = {}
    for item in asked:
        for index in range(item.request.count):
            key = (item.request.id, index)
            if key in answers and key not in known:
                question = item.seed or 0, item.difficulty or 0
                work.setdefault(item.subject or "", {})[key] = (*question, answers[key])
    sources = {environment_id: run.store.source(environment_id) or "" for environment_id in work}

    def score_environment(environment_id: str) -> dict[SampleKey, Score]:
        return score_answers(run, sources[environment_id], work[environment_id])

    for scores in on_all_cores(run, "score", score_environment, work):
        run.store.add_scores(step, scores)


def solver_metrics(store: Store, step: int) -> dict[str, float]:
    """Compute mean scores over all that was sampled, groups without signal included."""
    scores = store.scores(step, "solve").values()
    if not scores:
        return {}
    groups = solver_groups(store, step)
    silent = sum(has_zero_variance(group.rewards) for group in groups)
    return {
        "solver/score": sum(score.value for score in scores) / len(scores),
        "solver/right": sum(score.value >= FULLY_RIGHT for score in scores) / len(scores),
        "solver/format_ok": sum(score.format_ok for score in scores) / len(scores),
        "solver/responses": float(len(scores)),
        "solver/zero_variance": silent / len(groups),
        "solver/environments": float(len({subject for subject, _, _ in store.requests(step, "solve").values()})),
    }
