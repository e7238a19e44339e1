"""Ask a policy every problem of a suite k times, grade the responses, and say what they come to.

suite = environment_suite("corpus:held-out", difficulties=(0, 1), instances=4, seed=0)
print(evaluate(policy, sandbox, suite, samples=16, temperature=0.6, top_p=0.95, max_tokens=1024).accuracy)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evoenv.admission.calibration import FULLY_RIGHT
from evoenv.asking import ask_for_missing, keys_of
from evoenv.errors import InputError, PolicyError
from evoenv.evaluation.results import Results, SampleResult
from evoenv.evaluation.statistics import Estimate, estimate, mean_pass_at
from evoenv.evaluation.suite import BadProblem, OpenSuite, Problem, Suite, Verdict
from evoenv.ports import Policy
from evoenv.records import Request, Sample, derive_seed

if TYPE_CHECKING:
    from evoenv.sandbox.host import Sandbox

WAITING_PER_WORKER = 4
"""Responses that may wait for a grader, per grader: sampling must not run ahead of grading without bound."""


@dataclass(frozen=True, slots=True)
class ItemResult:
    """One problem: its samples' scores in the order of their indices."""

    id: str
    group: str
    scores: tuple[float, ...]
    format_failures: int = 0
    difficulty: int | None = None

    @property
    def right(self) -> int:
        return sum(score >= FULLY_RIGHT for score in self.scores)

    @property
    def correct(self) -> tuple[float, ...]:
        """1 for every fully right sample, 0 for the others."""
        return tuple(float(score >= FULLY_RIGHT) for score in self.scores)


@dataclass(frozen=True, slots=True)
class GroupResult:
    """One environment of a suite."""

    id: str
    name: str
    family: str
    accuracy: Estimate
    mean_score: float
    format_failures: float
    bad: int = 0
    """Instances that could not be posed; they are in no mean."""

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "name": self.name,
            "family": self.family,
            "accuracy": self.accuracy.to_json() if self.accuracy.n else None,
            "mean_score": self.mean_score if self.accuracy.n else None,
            "format_failures": self.format_failures if self.accuracy.n else None,
            "bad": self.bad,
        }


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What a policy did on a suite. A response counts as correct if its score is 1."""

    suite: str
    samples: int
    accuracy: Estimate
    """pass@1: the share of correct samples, averaged over problems."""
    mean_score: Estimate
    """The same of the scores themselves, partial credit included."""
    format_failures: float
    """Share of samples without a final answer."""
    pass_at: dict[int, float]
    items: tuple[ItemResult, ...]
    by_environment: dict[str, GroupResult]
    bad: tuple[BadProblem, ...] = ()
    """Problems that could not be posed, with the reasons; they are in no mean."""
    truncated: float = 0.0
    """Share of samples that were cut at `max_tokens`."""
    errors: int = 0
    """Samples that the policy could not give (prompt too long, request refused); they count as wrong."""
    grader_failures: int = 0
    """Samples whose grading was ended (time, memory, a crash of the scorer); they count as wrong."""
    sampled: int = 0
    """Samples drawn in this sitting; the others were in the results file already."""

    def to_json(self) -> dict[str, Any]:
        return {
            "suite": self.suite,
            "problems": len(self.items),
            "samples": self.samples,
            "accuracy": self.accuracy.to_json() if self.items else None,
            "mean_score": self.mean_score.to_json() if self.items else None,
            "pass_at": {str(k): value for k, value in self.pass_at.items()},
            "format_failures": self.format_failures,
            "truncated": self.truncated,
            "errors": self.errors,
            "grader_failures": self.grader_failures,
            "sampled": self.sampled,
            "bad": [{"id": item.id, "group": item.group, "reason": item.reason} for item in self.bad],
            "by_environment": [group.to_json() for group in self.by_environment.values()],
            "items": [
                {"id": item.id, "group": item.group, "difficulty": item.difficulty, "scores": list(item.scores)}
                for item in self.items
            ],
        }


def evaluate(
    policy: Policy,
    sandbox: Sandbox,
    suite: Suite,
    *,
    samples: int,
    temperature: float,
    top_p: float,
    max_tokens: int,
    results: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
    model: Mapping[str, Any] | str | None = None,
) -> Evaluation:
    """Ask for `samples` responses to every problem and grade them.

    With `results`, every graded sample is kept in that file; what is in it already is not sampled again, and a file of
    another model (as named by `model`), suite or sampling is refused. More samples may be asked for later.
    `progress` is told how many samples of how many are done.
    """
    if samples < 1:
        raise InputError(f"samples is {samples}; expected 1 or more per problem")
    identity = {
        "suite": {"name": suite.name, **suite.identity()},
        "model": model,
        "sampling": {"temperature": temperature, "top_p": top_p, "max_tokens": max_tokens},
    }
    with Results(results, identity) as kept, suite.open(sandbox) as opened:
        for bad in opened.bad:
            kept.add_bad(bad)
        requests = [
            Request(
                id=problem.id,
                role="solver",
                messages=problem.messages,
                count=samples,
                temperature=temperature,
                top_p=top_p,
                max_tokens=max_tokens,
                seed=derive_seed("evaluation-sample", suite.seed, problem.id),
            )
            for problem in opened.problems
        ]
        total = samples * len(requests)
        wanted = {(request.id, index) for request in requests for index in range(samples)}
        done = before = len(wanted & kept.samples.keys())
        if progress is not None:
            progress(done, total)
        for _ in _graded(policy, opened, requests, kept, sandbox.workers):
            done += 1
            if progress is not None:
                progress(done, total)
        return summarise(suite, samples, opened.problems, opened.bad, kept.samples, sampled=done - before)


def _graded(
    policy: Policy, suite: OpenSuite, requests: Sequence[Request], kept: Results, workers: int
) -> Iterator[None]:
    """Grade missing samples on threads while others are still being drawn; one item for each that is kept."""
    problems = {problem.id: problem for problem in suite.problems}
    known = frozenset(kept.samples)  # graders add to it meanwhile
    drawn = ask_for_missing(partial(_samples, policy), requests, known, "evaluate again: what was given is kept")

    def grade(problem: Problem, sample: Sample) -> None:
        if sample.finish_reason == "error":
            verdict = Verdict(0.0, format_ok=False)
        else:
            verdict = suite.grade(problem, sample.text)
        kept.add(problem, sample, verdict)

    with ThreadPoolExecutor(workers, thread_name_prefix="evoenv-grade") as threads:
        waiting: set[Future[None]] = set()
        try:
            for sample in drawn:
                waiting.add(threads.submit(grade, problems[sample.request_id], sample))
                enough = len(waiting) < WAITING_PER_WORKER * workers
                finished, waiting = wait(waiting, timeout=0 if enough else None, return_when=FIRST_COMPLETED)
                for future in finished:
                    future.result()
                    yield
            while waiting:
                finished, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for future in finished:
                    future.result()
                    yield
        except PolicyError:
            wait(waiting)  # what was given is kept
            raise
        finally:
            for future in waiting:
                future.cancel()


def _samples(policy: Policy, requests: Sequence[Request]) -> Iterator[Sample]:
    """Yield what the policy says; prompts that do not fit it are failed samples, unless none fits."""
    try:
        stream = policy.sample(requests)
    except PolicyError as refusal:
        fitting, refused = _separate(policy, requests)
        if not fitting:
            raise refusal
        for request in refused:
            for request_id, index in keys_of(request):
                yield Sample(request_id, index, "", finish_reason="error")
        stream = policy.sample(fitting)
    yield from stream


def _separate(policy: Policy, requests: Sequence[Request]) -> tuple[list[Request], list[Request]]:
    """Split requests into those that the policy takes and those that it refuses."""
    fitting: list[Request] = []
    refused: list[Request] = []
    for request in requests:
        try:
            policy.check([request])
            fitting.append(request)
        except PolicyError:
            refused.append(request)
    return fitting, refused


def summarise(
    suite: Suite,
    samples: int,
    problems: Sequence[Problem],
    bad: Sequence[BadProblem],
    kept: Mapping[tuple[str, int], SampleResult],
    *,
    sampled: int = 0,
) -> Evaluation:
    """Compute the numbers of scored samples; every problem has `samples` of them."""
    found = {problem.id: [kept[problem.id, index] for index in range(samples)] for problem in problems}
    items = tuple(_item(problem, found[problem.id]) for problem in problems)
    every = [result for results in found.values() for result in results]
    groups: dict[str, GroupResult] = {}
    for name, (label, family) in suite.group_names().items():
        own = [item for item in items if item.group == name]
        lost = sum(problem.group == name for problem in bad)
        groups[name] = _group(name, label, family, own, lost, suite.seed)
    return Evaluation(
        suite=suite.name,
        samples=samples,
        accuracy=estimate([item.correct for item in items], seed=suite.seed),
        mean_score=estimate([item.scores for item in items], seed=suite.seed),
        format_failures=_share(sum(not result.format_ok for result in every), len(every)),
        pass_at=mean_pass_at([(len(item.scores), item.right) for item in items]),
        items=items,
        by_environment=groups,
        bad=tuple(bad),
        truncated=_share(sum(result.finish_reason == "length" for result in every), len(every)),
        errors=sum(result.finish_reason == "error" for result in every),
        grader_failures=sum(result.failure is not None for result in every),
        sampled=sampled,
    )


def _item(problem: Problem, results: Sequence[SampleResult]) -> ItemResult:
    level = problem.facts.get("difficulty")
    return ItemResult(
        id=problem.id,
        group=problem.group,
        scores=tuple(result.score for result in results),
        format_failures=sum(not result.format_ok for result in results),
        difficulty=level if isinstance(level, int) else None,
    )


def _group(name: str, label: str, family: str, items: Sequence[ItemResult], bad: int, seed: int) -> GroupResult:
    scores = [score for item in items for score in item.scores]
    return GroupResult(
        id=name,
        name=label,
        family=family,
        accuracy=estimate([item.correct for item in items], seed=seed),
        mean_score=sum(scores) / len(scores) if scores else math.nan,
        format_failures=_share(sum(item.format_failures for item in items), len(scores)),
        bad=bad,
    )


def _share(count: int, total: int) -> float:
    return count / total if total else 0.0
