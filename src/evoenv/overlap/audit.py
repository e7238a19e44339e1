"""Compare the rendered prompts of environments with the problems of a suite."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from evoenv import __version__
from evoenv.assembly import open_sandbox
from evoenv.environment.sets import RunPool, parse_set
from evoenv.errors import InputError
from evoenv.evaluation.benchmarks import BenchmarkSuite
from evoenv.evaluation.environments import EnvironmentSuite, SuiteEnvironment, environment_suite
from evoenv.evaluation.suite import Problem, Suite
from evoenv.exchange.runs import read_run
from evoenv.overlap.ngrams import contained, longest_shared
from evoenv.overlap.results import FORMAT, TEXT_CUT, Match, Overlap, Pair
from evoenv.prompts.solver import SOLVER_PROMPT
from evoenv.prompts.texts import load_prompt

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evoenv.ports import Embedder

PER_ENVIRONMENT = 3
"""Pairs of one environment that are shown before those of others."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """What an environment asks at one seed and level."""

    text: str
    environment: str
    name: str
    seed: int
    difficulty: int
    original: bool


@dataclass(frozen=True, slots=True)
class PoolPrompts:
    """The prompts that a pool was rendered to."""

    pool: str
    prompts: tuple[Prompt, ...]
    environments: int
    not_rendered: int
    difficulties: tuple[int, ...]
    instances: int
    seed: int


@dataclass(frozen=True, slots=True)
class ProblemText:
    """A problem as its suite has it, without our words on how to answer."""

    id: str
    text: str


# --------------------------------------------------------------------------- texts


def render_pool(
    pool: str, *, difficulties: Sequence[int], instances: int, seed: int, active: bool = False, allow_degraded: bool
) -> PoolPrompts:
    """Render every environment of a run (all that were ever in its pool, or the active ones), or of another set."""
    named = parse_set(pool, where="pool")
    originals: set[str] = set()
    if isinstance(named, RunPool):
        entries = {entry.id: entry for entry in read_run(named.directory) if entry.active or not active}
        originals = {entry.id for entry in entries.values() if entry.original}
        members = tuple(
            SuiteEnvironment(entry.id, entry.source, name=entry.name, modules=entry.modules)
            for entry in entries.values()
        )
        suite = EnvironmentSuite(pool, members, tuple(difficulties), instances, seed)
    else:
        suite = environment_suite(pool, difficulties=difficulties, instances=instances, seed=seed)
    names = {item.id: item.label for item in suite.environments}
    with (
        open_sandbox(modules=suite.modules, allow_degraded=allow_degraded) as sandbox,
        suite.open(sandbox) as opened,
    ):
        prompts = tuple(
            Prompt(
                task_of(problem),
                problem.group,
                names[problem.group],
                int(problem.facts["seed"]),
                int(problem.facts["difficulty"]),
                problem.group in originals,
            )
            for problem in opened.problems
        )
        failed = len(opened.bad)
    if not prompts:
        raise InputError(f"no environment of {pool} makes an instance at the levels {list(difficulties)}")
    return PoolPrompts(pool, prompts, len(names), failed, tuple(difficulties), instances, seed)


def suite_texts(suite: Suite, *, allow_degraded: bool = False) -> list[ProblemText]:
    """Return the problems of a suite as texts; no grader is started."""
    if isinstance(suite, BenchmarkSuite):
        return [ProblemText(problem.id, "\n".join([problem.problem, *problem.choices])) for problem in suite.problems]
    with (
        open_sandbox(modules=suite.modules, allow_degraded=allow_degraded) as sandbox,
        suite.open(sandbox) as opened,
    ):
        return [ProblemText(problem.id, task_of(problem)) for problem in opened.problems]


def task_of(problem: Problem) -> str:
    """Return what is asked, without the words that tell a solver how to end its response."""
    before, _, after = load_prompt(SOLVER_PROMPT).partition("{{task}}")
    text = problem.messages[-1].content.strip()
    return text.removeprefix(before.strip()).removesuffix(after.strip()).strip()


# --------------------------------------------------------------------------- comparing


def compare(
    pool: PoolPrompts,
    suite: str,
    problems: Sequence[ProblemText],
    embedder: Embedder,
    *,
    embedder_name: str,
    n: int,
    pairs: int,
    progress: Callable[[int, int], None] | None = None,
) -> Overlap:
    """Find for every problem the nearest prompts by both measures, and the closest pairs of all."""
    if not problems:
        raise InputError(f"the suite {suite} has no problem to compare with")
    texts = [prompt.text for prompt in pool.prompts]
    asked = [problem.text for problem in problems]
    held = contained(asked, texts, n)
    vectors = _embed(embedder, [*texts, *asked], progress)
    prompt_vectors, problem_vectors = vectors[: len(texts)], vectors[len(texts) :]
    # One row for each problem, one column for each prompt.
    cosines = np.clip(problem_vectors @ prompt_vectors.T, -1.0, 1.0)
    nearest = cosines.argmax(axis=1)
    among = _nearest_others(problem_vectors)
    matches = tuple(
        Match(
            problem.id,
            round(found.share, 4),
            round(float(cosines[row, nearest[row]]), 4),
            None if among is None else round(float(among[row]), 4),
        )
        for row, (problem, found) in enumerate(zip(problems, held, strict=True))
    )

    def pair(by: str, row: int, position: int) -> Pair:
        prompt, problem = pool.prompts[position], problems[row]
        (share,) = contained([problem.text], [prompt.text], n)
        return Pair(
            by=by,
            problem=problem.id,
            environment=prompt.environment,
            name=prompt.name,
            seed=prompt.seed,
            difficulty=prompt.difficulty,
            original=prompt.original,
            ngram=round(share.share, 4),
            cosine=round(float(cosines[row, position]), 4),
            shared=longest_shared(problem.text, prompt.text)[:TEXT_CUT],
            problem_text=problem.text[:TEXT_CUT],
            prompt_text=prompt.text[:TEXT_CUT],
        )

    by_words = sorted((row for row, found in enumerate(held) if found.share > 0), key=lambda row: -held[row].share)
    by_meaning = sorted(range(len(problems)), key=lambda row: -float(cosines[row, nearest[row]]))
    holders = [(row, position) for row in by_words if (position := held[row].prompt) is not None]
    neighbours = [(row, int(nearest[row])) for row in by_meaning]
    closest = [
        pair(by, row, position)
        for by, ranked in (("ngram", holders), ("cosine", neighbours))
        for row, position in _varied(ranked, [prompt.environment for prompt in pool.prompts], pairs)
    ]
    return Overlap(
        format=FORMAT,
        pool=pool.pool,
        suite=suite,
        evoenv=__version__,
        n=n,
        embedder=embedder_name,
        environments=pool.environments,
        prompts=len(pool.prompts),
        not_rendered=pool.not_rendered,
        difficulties=pool.difficulties,
        instances=pool.instances,
        seed=pool.seed,
        matches=matches,
        pairs=tuple(closest),
    )


def _varied(ranked: Sequence[tuple[int, int]], environments: Sequence[str], count: int) -> list[tuple[int, int]]:
    """Choose the first `count` of ranked pairs, a few of each environment as long as there are others.

    The problems of a suite that is made by a rule are all alike, and all nearest to the same environment.
    """
    seen: Counter[str] = Counter()
    first: list[int] = []
    for place, (_, position) in enumerate(ranked):
        seen[environments[position]] += 1
        if seen[environments[position]] <= PER_ENVIRONMENT:
            first.append(place)
    kept = first[:count]
    others = [place for place in range(len(ranked)) if place not in set(kept)]
    return [ranked[place] for place in sorted([*kept, *others[: count - len(kept)]])]


def _embed(
    embedder: Embedder, texts: Sequence[str], progress: Callable[[int, int], None] | None
) -> NDArray[np.float32]:
    parts = []
    for begin in range(0, len(texts), 256):
        parts.append(np.asarray(embedder.embed(texts[begin : begin + 256]), dtype=np.float32))
        if progress is not None:
            progress(min(begin + 256, len(texts)), len(texts))
    return np.concatenate(parts)


def _nearest_others(vectors: NDArray[np.float32]) -> NDArray[np.float32] | None:
    """Return the largest cosine of each text with another one; None if there is only one."""
    if len(vectors) < 2:
        return None
    nearest = np.empty(len(vectors), dtype=np.float32)
    for begin in range(0, len(vectors), 1024):
        block = vectors[begin : begin + 1024] @ vectors.T
        rows = np.arange(len(block))
        block[rows, begin + rows] = -1.0
        nearest[begin : begin + len(block)] = block.max(axis=1)
    return np.clip(nearest, -1.0, 1.0)


# --------------------------------------------------------------------------- where results go


def results_folder(pool: str, output: Path | None, folder: str) -> Path:
    """Return where the documents of an audit are kept: in the run, or where the user says."""
    if output is not None:
        return output
    named = parse_set(pool, where="pool")
    return named.directory / folder if isinstance(named, RunPool) else Path(folder)
