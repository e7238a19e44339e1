"""`r-zero`: the policy asks questions (challenger) and learns from the majority of its own answers (solver).

- The challenger writes a question; the solver answers it `votes` times. s is the share of the most frequent answer,
  which becomes the label. Responses without an answer vote for nothing and still count in the share's denominator.
- Repetition: questions of a step's batch B are clustered by 1 − BLEU (average linkage, `cluster_distance`); C is a
  question's cluster.
- Challenger reward, `paper`: max(0, 1 − 2·|s − ½| − λ·|C|/B), malformed 0; `code`: min(s, 1 − s) − |C|/B, malformed
  −1 − |C|/B.
- The solver trains on questions with `band_low` ≤ s ≤ `band_high`; reward 0.9 for agreeing with the label, 0.1 for
  giving an answer at all.

R-Zero trains two copies of the model in turns, each for several steps. Here one policy has both roles and every step
trains both, as in EvoEnv, so that steps and tokens mean the same; and sampling has no top-k.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence

from evoenv.admission.calibration import FULLY_RIGHT
from evoenv.config import CurriculumConfig
from evoenv.curricula.problems import TrainingProblem, answer_problems
from evoenv.curricula.repetition import cluster_sizes
from evoenv.environment.answers import extract_answer
from evoenv.equivalence import majority, same_answer
from evoenv.ids import CandidateId, GeneratorRequestId, VoteRequestId
from evoenv.prompts.challenger import challenger_messages, extract_question
from evoenv.prompts.solver import solver_messages
from evoenv.records import Group, Question, QuestionDecision, Request, Sample, Vote, derive_seed
from evoenv.stages.context import Run
from evoenv.stages.groups import generator_groups, solver_groups
from evoenv.stages.sampling import ask, prompt_tokens
from evoenv.stages.solving import solver_metrics
from evoenv.store.store import RequestRecord, SampleKey, Store

ADMITTED, MALFORMED, TOO_HARD, TOO_EASY = "admitted", "malformed", "too-hard", "too-easy"
ACCURACY_SHARE, FORMAT_SHARE = 0.9, 0.1
_ROUNDING = 1e-9


def collect(run: Run, step: int) -> None:
    """Ask for questions, let the solver vote on them, decide their fates, and solve those that are admitted."""
    questions = challenge(run, step)
    texts = {question.id: extract_question(question.response) for question in questions}
    votes = vote(run, step, texts)
    decide(run, step, texts, votes)
    solve_admitted(run, step, texts, votes)


def groups(run: Run, step: int) -> list[Group]:
    """Return the challenger's groups by its reward, and the solver's by accuracy and format."""
    scores = run.store.scores(step, "solve")
    groups = generator_groups(run.store, step)
    for group in solver_groups(run.store, step):
        marks = [scores[group.id, sample.index] for sample in group.samples]
        rewards = tuple(solver_reward(mark.value >= FULLY_RIGHT, mark.format_ok) for mark in marks)
        groups.append(Group(group.id, group.role, group.samples, rewards))
    return groups


def solver_reward(right: bool, format_ok: bool) -> float:
    return ACCURACY_SHARE * right + FORMAT_SHARE * format_ok


# --------------------------------------------------------------------------- the challenger


def challenge(run: Run, step: int) -> list[Question]:
    """Sample the challenger's responses; each is a question, if only in form."""
    run.begin(step, "generated")
    config = run.config.generator
    if not run.store.stage_done(step, "generated"):
        began = time.perf_counter()
        requests = [
            Request(
                id=str(GeneratorRequestId(step, group)),
                role="generator",
                messages=challenger_messages(),
                count=config.candidates_per_prompt,
                temperature=config.temperature,
                top_p=config.top_p,
                max_tokens=config.max_tokens,
                seed=derive_seed(run.seed, "challenger", step, group),
                trains=run.training,
            )
            for group in range(config.prompts)
        ]
        for sample in ask(run, step, "generated", [RequestRecord(request, "generate") for request in requests]):
            run.store.add_questions([question_of(sample)])
        with run.store.stage(step, "generated"):
            run.store.add_metrics(step, {"time/generate": time.perf_counter() - began})
    return run.store.questions(step)


def question_of(sample: Sample) -> Question:
    request = GeneratorRequestId.parse(sample.request_id)
    return Question(request.step, request.group, sample.index, sample.text)


# --------------------------------------------------------------------------- majority vote


def vote(run: Run, step: int, texts: Mapping[str, str | None]) -> dict[str, Vote]:
    """Let the solver answer every question that can be asked; return how its answers agree, by question id."""
    run.begin(step, "calibrated")
    if not run.store.stage_done(step, "calibrated"):
        asked = [item for question_id, text in texts.items() for item in _vote_request(run, question_id, text)]
        answers: dict[str, list[str | None]] = {item.subject or "": [None] * item.request.count for item in asked}
        for sample in ask(run, step, "calibrated", asked):
            question_id = str(VoteRequestId.parse(sample.request_id).question)
            answers[question_id][sample.index] = extract_answer(sample.text)
        votes = {question_id: count_votes(given) for question_id, given in answers.items()}
        with run.store.stage(step, "calibrated"):
            run.store.add_votes(step, votes)
            shares = [item.share for item in votes.values()]
            if shares:
                run.store.add_metrics(step, {"calibration/pass_rate": sum(shares) / len(shares)})
    return run.store.votes(step)


def _vote_request(run: Run, question_id: str, text: str | None) -> list[RequestRecord]:
    """Make the request for votes on a question; none if there is no question, or if it is too long to be asked."""
    config = run.config.solver
    if text is None or prompt_tokens(run, solver_messages(text)) > config.max_prompt_tokens:
        return []
    request = Request(
        id=str(CandidateId.parse(question_id).vote),
        role="solver",
        messages=solver_messages(text),
        count=run.config.curriculum.votes,
        temperature=config.temperature,
        top_p=config.top_p,
        max_tokens=config.max_tokens,
        seed=derive_seed(run.seed, "vote", question_id),
    )
    return [RequestRecord(request, "calibrate", subject=question_id)]


def count_votes(answers: Sequence[str | None]) -> Vote:
    """Tell which answers agree with the most frequent one; None stands for a response without an answer."""
    label, count = majority(answers)
    agreeing = tuple(answer is not None and label is not None and same_answer(answer, label) for answer in answers)
    return Vote(agreeing, count / len(answers))


def label_of(question_id: str, vote: Vote, samples: Mapping[SampleKey, Sample]) -> str:
    """Return the answer that most agree on, as it was first written."""
    first = samples[str(CandidateId.parse(question_id).vote), vote.agreeing.index(True)]
    return extract_answer(first.text) or ""


# --------------------------------------------------------------------------- rewards and the band


def challenger_reward(share: float | None, cluster: int, batch: int, config: CurriculumConfig) -> float:
    """Compute the challenger's reward; `share` is None for a response without a question."""
    repeated = cluster / batch
    if config.challenger_reward == "code":
        return (-1.0 if share is None else min(share, 1.0 - share)) - repeated
    if share is None:
        return 0.0
    return max(0.0, 1.0 - 2.0 * abs(share - 0.5) - config.repetition_weight * repeated)


def fate(share: float | None, config: CurriculumConfig) -> str:
    """Return whether the solver trains on a question, and if not, why."""
    if share is None:
        return MALFORMED
    if share < config.band_low - _ROUNDING:
        return TOO_HARD
    return TOO_EASY if share > config.band_high + _ROUNDING else ADMITTED


def decide(run: Run, step: int, texts: Mapping[str, str | None], votes: Mapping[str, Vote]) -> None:
    """Give every question its reward and its fate."""
    run.begin(step, "decided")
    if run.store.stage_done(step, "decided"):
        return
    config = run.config.curriculum
    sizes = cluster_sizes([text or "" for text in texts.values()], config.cluster_distance)
    decisions = []
    for question_id, size in zip(texts, sizes, strict=True):
        share = votes[question_id].share if question_id in votes else None
        reward = challenger_reward(share, size, len(texts), config)
        reason = fate(share, config)
        if reason == ADMITTED and not any(votes[question_id].agreeing):
            reason = TOO_HARD  # nobody gave an answer, and the band reaches down to 0
        decisions.append(QuestionDecision(question_id, reward, reason == ADMITTED, reason))
    fates = Counter(item.reason for item in decisions)
    with run.store.stage(step, "decided") as kept:
        run.store.add_question_decisions(step, decisions)
        run.store.add_metrics(
            step, {f"fate/{reason}": fates[reason] for reason in (ADMITTED, MALFORMED, TOO_HARD, TOO_EASY)}
        )
        if decisions:
            run.store.add_metrics(step, {"generator/reward": sum(item.reward for item in decisions) / len(decisions)})
            run.store.add_metrics(step, {"r-zero/repetition": sum(sizes) / len(sizes) / len(sizes)})
        kept["admitted"] = [item.question_id for item in decisions if item.admitted]


# --------------------------------------------------------------------------- the solver


def solve_admitted(run: Run, step: int, texts: Mapping[str, str | None], votes: Mapping[str, Vote]) -> None:
    """Sample and grade a group for each admitted question, `solver.prompts` of them at most."""
    run.begin(step, "solved")
    if run.store.stage_done(step, "solved"):
        return
    began = time.perf_counter()
    samples = run.store.samples(step, "calibrate")
    problems = [
        TrainingProblem(question_id, texts[question_id] or "", label_of(question_id, votes[question_id], samples))
        for question_id in choose(run.store, step, run.config.solver.prompts, run.seed)
    ]
    request_ids = answer_problems(run, step, dict(enumerate(problems)), same_answer)
    with run.store.stage(step, "solved"):
        run.store.add_metrics(
            step,
            {
                **solver_metrics(run.store, step),
                "solver/lost_draws": len(problems) - len(request_ids),
                "time/solve": time.perf_counter() - began,
            },
        )


def choose(store: Store, step: int, count: int, seed: int) -> list[str]:
    """Choose the questions to train on: all that are admitted, or as many as a step has room for, by lot."""
    admitted = [item.question_id for item in store.question_decisions(step) if item.admitted]
    if len(admitted) <= count:
        return admitted
    lots = sorted(admitted, key=lambda question_id: derive_seed(seed, "choose", question_id))
    return sorted(lots[:count])
