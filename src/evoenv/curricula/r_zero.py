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

import re
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from evoenv.admission.calibration import FULLY_RIGHT
from evoenv.config import CurriculumConfig
from evoenv.curricula.equivalence import majority, same_answer
from evoenv.curricula.problems import Problem, answer_problems
from evoenv.curricula.repetition import cluster_sizes
from evoenv.environment.answers import extract_answer
from evoenv.prompts.solver import solver_messages
from evoenv.prompts.texts import load_prompt
from evoenv.records import (
    Calibration,
    Candidate,
    Decision,
    Group,
    Message,
    Request,
    StepSummary,
    derive_seed,
)
from evoenv.stages.admitting import generator_groups
from evoenv.stages.context import Run
from evoenv.stages.learning import learn
from evoenv.stages.rotation import finish
from evoenv.stages.sampling import ask, prompt_tokens
from evoenv.stages.solving import solved_groups, solver_metrics
from evoenv.store.store import Asked, Store

CHALLENGER_PROMPT = "challenger_v1"
KEPT, MALFORMED, TOO_HARD, TOO_EASY = "admitted", "malformed", "too-hard", "too-easy"
ACCURACY_SHARE, FORMAT_SHARE = 0.9, 0.1
_ROUNDING = 1e-9
_TAG = re.compile(r"<(/?)question>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Vote:
    """What the solver thinks of a question: its most frequent answer, and how the answers agree with it."""

    label: str | None
    agreeing: tuple[float, ...]
    share: float


def step(run: Run, step: int) -> StepSummary:
    pool = run.begin_step()
    questions = challenge(run, step)
    votes = vote(run, step, questions)
    decide(run, step, questions, votes)
    train_solver(run, step, questions, votes)
    learn(run, step, groups(run, step))
    return finish(run, step, pool, pool)


def groups(run: Run, step: int) -> list[Group]:
    """The challenger's groups by its reward, and the solver's by accuracy and format."""
    scores = run.store.scores(step, "solve")
    found = generator_groups(run.store, step)
    for group in solved_groups(run.store, step).groups:
        marks = [scores[group.id, sample.index] for sample in group.samples]
        rewards = tuple(solver_reward(mark.value >= FULLY_RIGHT, mark.format_ok) for mark in marks)
        found.append(Group(group.id, group.role, group.samples, rewards))
    return found


def solver_reward(right: bool, format_ok: bool) -> float:
    return ACCURACY_SHARE * right + FORMAT_SHARE * format_ok


# --------------------------------------------------------------------------- the challenger


def challenge(run: Run, step: int) -> dict[str, str | None]:
    """A batch of questions by candidate id; None where a response holds none."""
    run.begin(step, "generated")
    config = run.config.generator
    if not run.store.stage_done(step, "generated"):
        began = time.perf_counter()
        requests = [
            Request(
                id=f"s{step:05d}.g{group:03d}",
                role="generator",
                messages=(Message("user", load_prompt(CHALLENGER_PROMPT).strip()),),
                count=config.candidates_per_prompt,
                temperature=config.temperature,
                top_p=config.top_p,
                max_tokens=config.max_tokens,
                seed=derive_seed(run.seed, "challenger", step, group),
            )
            for group in range(config.prompts)
        ]
        for sample in ask(run, step, "generated", [Asked(request, "generate") for request in requests]):
            name, group = f"{sample.request_id}.c{sample.index:02d}", int(sample.request_id.rpartition(".g")[2])
            candidate = Candidate(name, step, group, sample.index, sample.text, source=None)
            run.store.add_candidates([candidate], {name: sample.request_id})
        with run.store.stage(step, "generated"):
            run.store.add_metrics(step, {"time/generate": time.perf_counter() - began})
    return {item.id: extract_question(item.response) for item in run.store.candidates(step)}


def extract_question(response: str) -> str | None:
    """The text of the last complete <question>…</question>, or None."""
    opened, found = None, None
    for tag in _TAG.finditer(response):
        if not tag[1]:
            opened = tag.end()
        elif opened is not None:
            found, opened = response[opened : tag.start()].strip(), None
    return found or None


# --------------------------------------------------------------------------- majority vote


def vote(run: Run, step: int, questions: dict[str, str | None]) -> dict[str, Vote]:
    """The solver's answers to every question that can be asked, and what their majority says."""
    run.begin(step, "calibrated")
    config = run.config.solver
    asked = []
    for name, question in questions.items():
        if question is None:
            continue
        messages = solver_messages(question)
        if prompt_tokens(run, messages) <= config.max_prompt_tokens:
            request = Request(
                id=f"{name}.vote",
                role="solver",
                messages=messages,
                count=run.config.curriculum.votes,
                temperature=config.temperature,
                top_p=config.top_p,
                max_tokens=config.max_tokens,
                seed=derive_seed(run.seed, "vote", name),
            )
            asked.append(Asked(request, "calibrate", subject=name))
    answers: dict[str, list[str | None]] = {item.subject or "": [None] * item.request.count for item in asked}
    for sample in ask(run, step, "calibrated", asked):
        answers[sample.request_id.removesuffix(".vote")][sample.index] = extract_answer(sample.text)
    votes = {name: count_votes(given) for name, given in answers.items()}
    if not run.store.stage_done(step, "calibrated"):
        with run.store.stage(step, "calibrated"):
            run.store.add_calibrations(
                step, {name: Calibration(item.agreeing, item.share) for name, item in votes.items()}
            )
            shares = [item.share for item in votes.values()]
            if shares:
                run.store.add_metrics(step, {"calibration/pass_rate": sum(shares) / len(shares)})
    return votes


def count_votes(answers: Sequence[str | None]) -> Vote:
    label, count = majority(answers)
    agreeing = tuple(
        float(answer is not None and label is not None and same_answer(answer, label)) for answer in answers
    )
    return Vote(label, agreeing, count / len(answers))


# --------------------------------------------------------------------------- rewards and the band


def challenger_reward(share: float | None, cluster: int, batch: int, config: CurriculumConfig) -> float:
    """`share` is None for a response without a question."""
    repeated = cluster / batch
    if config.challenger_reward == "code":
        return (-1.0 if share is None else min(share, 1.0 - share)) - repeated
    if share is None:
        return 0.0
    return max(0.0, 1.0 - 2.0 * abs(share - 0.5) - config.repetition_weight * repeated)


def fate(share: float | None, config: CurriculumConfig) -> str:
    """Whether the solver trains on a question, and if not, why."""
    if share is None:
        return MALFORMED
    if share < config.band_low - _ROUNDING:
        return TOO_HARD
    return TOO_EASY if share > config.band_high + _ROUNDING else KEPT


def decide(run: Run, step: int, questions: dict[str, str | None], votes: dict[str, Vote]) -> None:
    """Every question's reward and fate."""
    run.begin(step, "decided")
    if run.store.stage_done(step, "decided"):
        return
    config = run.config.curriculum
    sizes = cluster_sizes([question or "" for question in questions.values()], config.cluster_distance)
    decisions = []
    for name, size in zip(questions, sizes, strict=True):
        share = votes[name].share if name in votes else None
        reward = challenger_reward(share, size, len(questions), config)
        reason = fate(share, config)
        if reason == KEPT and votes[name].label is None:
            reason = TOO_HARD  # nobody gave an answer, and the band reaches down to 0
        decisions.append(Decision(name, 0, share or 0.0, reward, reason == KEPT, reason))
    fates = Counter(item.reason for item in decisions)
    with run.store.stage(step, "decided") as kept:
        run.store.add_decisions(step, decisions)
        run.store.add_metrics(
            step, {f"fate/{reason}": fates[reason] for reason in (KEPT, MALFORMED, TOO_HARD, TOO_EASY)}
        )
        if decisions:
            run.store.add_metrics(step, {"generator/reward": sum(item.reward for item in decisions) / len(decisions)})
            run.store.add_metrics(step, {"r-zero/repetition": sum(sizes) / len(sizes) / len(sizes)})
        kept["admitted"] = [item.candidate_id for item in decisions if item.admitted]


# --------------------------------------------------------------------------- the solver


def train_solver(run: Run, step: int, questions: dict[str, str | None], votes: dict[str, Vote]) -> None:
    """A group for each kept question, `solver.prompts` of them at most."""
    run.begin(step, "solved")
    if run.store.stage_done(step, "solved"):
        return
    began = time.perf_counter()
    chosen = choose(run.store, step, run.config.solver.prompts, run.seed)
    problems = [Problem(name, questions[name] or "", votes[name].label or "") for name in chosen]
    asked = answer_problems(run, step, dict(enumerate(problems)))
    with run.store.stage(step, "solved"):
        run.store.add_metrics(
            step,
            {
                **solver_metrics(run.store, step, solved_groups(run.store, step)),
                "solver/lost_draws": len(problems) - len(asked),
                "time/solve": time.perf_counter() - began,
            },
        )


def choose(store: Store, step: int, count: int, seed: int) -> list[str]:
    """Which kept questions are trained on: all, or as many as a step has room for, by lot."""
    kept = [item.candidate_id for item in store.decisions(step) if item.admitted]
    if len(kept) <= count:
        return kept
    lots = sorted(kept, key=lambda name: derive_seed(seed, "choose", name))
    return sorted(lots[:count])
