"""Problems with known answers as solver groups: reading a file of them, asking, and grading."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from evoenv.environment.answers import extract_answer
from evoenv.errors import InputError
from evoenv.ids import ProblemRequestId
from evoenv.prompts.solver import solver_messages
from evoenv.records import Score, derive_seed
from evoenv.stages.context import Run
from evoenv.stages.sampling import ask, prompt_tokens
from evoenv.stages.solving import solver_request
from evoenv.store.store import RequestRecord

SameAnswer: TypeAlias = Callable[[str, str], bool]
"""Tells whether an answer that was given is the expected one: (given, expected). Called on several threads."""


@dataclass(frozen=True, slots=True)
class TrainingProblem:
    id: str
    text: str
    answer: str


def read_problems(path: Path, problem_field: str, answer_field: str) -> list[TrainingProblem]:
    """Read the problems of a JSONL file, in order; every line is checked before any of them is used."""
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")  # not splitlines: JSON may hold its other line ends
    except (OSError, UnicodeDecodeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"cannot read the problems {path}: {reason}; expected a JSONL file") from error
    problems: list[TrainingProblem] = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            problems.append(_problem(line, f"{path}:{number}", f"p{number:06d}", problem_field, answer_field))
    if not problems:
        raise InputError(f"{path} holds no problems; expected one JSON object per line")
    return problems


def _problem(line: str, location: str, problem_id: str, problem_field: str, answer_field: str) -> TrainingProblem:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{location}: not JSON ({error}); expected one object per line") from error
    values: list[str] = []
    for key, setting in ((problem_field, "problem_field"), (answer_field, "answer_field")):
        value = entry.get(key) if isinstance(entry, dict) else None
        if isinstance(value, bool) or not isinstance(value, str | int | float) or not str(value).strip():
            has = ", ".join(sorted(entry)) if isinstance(entry, dict) else type(entry).__name__
            raise InputError(
                f"{location}: no text or number under {key!r} (it has: {has}); name the field with curriculum.{setting}"
            )
        values.append(str(value))
    return TrainingProblem(problem_id, *values)


def answer_problems(run: Run, step: int, problems: Mapping[int, TrainingProblem], same: SameAnswer) -> list[str]:
    """Sample a group of responses to each problem, grade and store them; return the ids of the requests.

    The keys of `problems` number the groups of the step; a problem that is too long to be asked has no request. Asked
    again after a stop, only what is missing is sampled.
    """
    config = run.config.solver
    asked: list[RequestRecord] = []
    answers: dict[str, str] = {}
    for index, problem in problems.items():
        messages = solver_messages(problem.text)
        if prompt_tokens(run, messages) > config.max_prompt_tokens:
            continue
        request = solver_request(run, str(ProblemRequestId(step, index)), messages, step, index)
        asked.append(RequestRecord(request, "solve", subject=problem.id))
        answers[request.id] = problem.answer
    samples = list(ask(run, step, "solved", asked))
    known = run.store.scores(step, "solve")
    ungraded = [sample for sample in samples if (sample.request_id, sample.index) not in known]
    with ThreadPoolExecutor(run.sandbox.workers, thread_name_prefix="evoenv-grade") as threads:
        scores = threads.map(lambda sample: grade(sample.text, answers[sample.request_id], same), ungraded)
        run.store.add_scores(
            step,
            {(sample.request_id, sample.index): score for sample, score in zip(ungraded, scores, strict=True)},
        )
    return list(answers)


def grade(response: str, answer: str, same: SameAnswer) -> Score:
    """Give 1 for the right answer, 0 for any other and for none."""
    given = extract_answer(response)
    if given is None:
        return Score(0.0, format_ok=False)
    return Score(float(same(given, answer)))


def numbered(problems: Sequence[TrainingProblem], first: int, seed: int, count: int) -> list[TrainingProblem]:
    """Draw problems `first` to `first + count` of an endless stream: pass after pass over all, each newly shuffled."""
    drawn: list[TrainingProblem] = []
    order: list[TrainingProblem] = []
    current = -1
    for position in range(first, first + count):
        epoch, row = divmod(position, len(problems))
        if epoch != current:
            current, order = epoch, list(problems)
            random.Random(derive_seed(seed, "problems", epoch)).shuffle(order)
        drawn.append(order[row])
    return drawn
