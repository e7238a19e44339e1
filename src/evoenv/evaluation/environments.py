"""Suites of environments: any set of them, asked at several difficulties."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from evoenv.environment.answers import extract_answer
from evoenv.environment.sets import EXPECTED, SPLITS_IN_WORDS, CorpusPart, load_set, parse_set
from evoenv.errors import InputError
from evoenv.evaluation.suite import BadProblem, Problem, Verdict
from evoenv.prompts.solver import SOLVER_PROMPT, solver_messages
from evoenv.records import Instance, derive_seed
from evoenv.sandbox.pool import WorkerPool

if TYPE_CHECKING:
    from evoenv.sandbox.host import Sandbox

WHERE = "suite"
"""How messages call the text that names a suite."""


@dataclass(frozen=True, slots=True)
class SuiteEnvironment:
    """One environment of a suite. `id` names it by its content, `name` for people; `family` groups kindred ones."""

    id: str
    source: str
    family: str = ""
    name: str = ""
    controller: str | None = None
    """The parameter controller of an RLVE-Gym environment."""
    modules: tuple[str, ...] = ()
    """Modules beyond the allow-list that it may import."""

    @property
    def label(self) -> str:
        return self.name or self.id


@dataclass(frozen=True, slots=True)
class EnvironmentSuite:
    """`instances` fresh instances of every environment at every difficulty; the same ones for the same seed."""

    name: str
    environments: Sequence[SuiteEnvironment]
    difficulties: Sequence[int]
    instances: int
    seed: int

    def __post_init__(self) -> None:
        if not self.environments:
            raise InputError(f"the suite {self.name!r} has no environment; expected one or more")
        check_instances(self.name, self.difficulties, self.instances)
        ids = [environment.id for environment in self.environments]
        if len(set(ids)) < len(ids):
            raise InputError(f"two environments of the suite {self.name!r} share an id; ids must differ")

    def identity(self) -> dict[str, Any]:
        content = hashlib.sha256()
        for environment in self.environments:
            content.update(f"{environment.id}\0{environment.source}\0{environment.controller}\0".encode())
        return {
            "kind": "environments",
            "environments": len(self.environments),
            "content": content.hexdigest()[:32],
            "difficulties": list(self.difficulties),
            "instances": self.instances,
            "seed": self.seed,
            "prompt": SOLVER_PROMPT,
        }

    @property
    def modules(self) -> tuple[str, ...]:
        """What the sandbox of this suite must be opened with, beyond the allow-list."""
        return tuple(sorted({module for item in self.environments for module in item.modules}))

    def group_names(self) -> dict[str, tuple[str, str]]:
        return {item.id: (item.label, item.family) for item in self.environments}

    def instance_seed(self, environment: str, difficulty: int, index: int) -> int:
        return derive_seed("evaluation", self.seed, environment, difficulty, index)

    def open(self, sandbox: Sandbox) -> OpenEnvironments:
        return OpenEnvironments(self, sandbox)


def check_instances(name: str, difficulties: Sequence[int], instances: int) -> None:
    if instances < 1:
        raise InputError(f"the suite {name!r} has {instances} instances; expected 1 or more")
    if not difficulties or min(difficulties) < 0 or len(set(difficulties)) < len(difficulties):
        raise InputError(
            f"the suite {name!r} has the difficulties {list(difficulties)}; expected different levels, each 0 or more"
        )


@dataclass(frozen=True, slots=True)
class ScoredInstance:
    """The instance behind a problem, and how to open the environment that scores it."""

    source: str
    seed: int
    difficulty: int
    options: dict[str, Any]
    """What the sandbox's `open` is given beside the source."""


class ScoredByEnvironments(ABC):
    """A suite at work whose problems are instances of environments, which score the answers themselves."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._workers = WorkerPool(sandbox)
        self.problems: list[Problem] = []
        self.bad: list[BadProblem] = []
        try:
            self._pose(sandbox)
        except BaseException:
            self._workers.close()
            raise

    @abstractmethod
    def _pose(self, sandbox: Sandbox) -> None:
        """Fill `problems`, and `bad` with those that cannot be posed."""

    @abstractmethod
    def _instance_of(self, problem: Problem) -> ScoredInstance:
        """Find the instance behind a problem."""

    def grade(self, problem: Problem, response: str) -> Verdict:
        answer = extract_answer(response)
        if answer is None:
            return Verdict(0.0, format_ok=False)
        instance = self._instance_of(problem)
        item = (instance.seed, instance.difficulty, answer)
        (score,) = self._workers.score(instance.source, [item], **instance.options)
        return Verdict(score.value, answer=answer, failure=score.failure)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._workers.close()


class OpenEnvironments(ScoredByEnvironments):
    """The suite's instances, generated in the sandbox; those that died are kept with the reason."""

    def __init__(self, suite: EnvironmentSuite, sandbox: Sandbox) -> None:
        self._suite = suite
        self._environments = {environment.id: environment for environment in suite.environments}
        super().__init__(sandbox)

    def _pose(self, sandbox: Sandbox) -> None:
        with ThreadPoolExecutor(sandbox.workers, thread_name_prefix="evoenv-evaluation") as threads:
            for posed, failed in threads.map(self._pose_one, self._suite.environments):
                self.problems += posed
                self.bad += failed

    def _pose_one(self, environment: SuiteEnvironment) -> tuple[list[Problem], list[BadProblem]]:
        posed: list[Problem] = []
        failed: list[BadProblem] = []
        with self._workers.worker(environment.source, **_options(environment)) as worker:
            for difficulty in self._suite.difficulties:
                indices = range(self._suite.instances)
                seeds = [self._suite.instance_seed(environment.id, difficulty, index) for index in indices]
                for index, instance in enumerate(worker.instances(seeds, difficulty)):
                    name = f"{environment.id}/{difficulty}/{index}"
                    if instance is None:
                        failed.append(BadProblem(name, worker.failures[index].message, environment.id))
                    else:
                        posed.append(_problem(name, environment.id, instance))
        return posed, failed

    def _instance_of(self, problem: Problem) -> ScoredInstance:
        environment, facts = self._environments[problem.group], problem.facts
        return ScoredInstance(environment.source, int(facts["seed"]), int(facts["difficulty"]), _options(environment))


def _problem(name: str, environment: str, instance: Instance) -> Problem:
    facts = {"seed": instance.seed, "difficulty": instance.difficulty}
    return Problem(name, solver_messages(instance.prompt), environment, facts)


def _options(environment: SuiteEnvironment) -> dict[str, Any]:
    return {} if environment.controller is None else {"controller": environment.controller}


# --------------------------------------------------------------------------- from words to a suite


def environment_suite(
    text: str,
    *,
    difficulties: Sequence[int],
    instances: int,
    seed: int,
    programs: int | None = None,
    per_family: int | None = None,
) -> EnvironmentSuite:
    """Make the suite of the environments that `text` names; `evoenv.environment.sets` has the grammar.

    Of the corpus: `programs` of them in all, or `per_family` of every family (one, if neither is given). They are
    composed from `seed`, apart from those that a warm start with the same number learns from.
    """
    check_instances(text, difficulties, instances)  # before programs are composed
    if programs is not None and per_family is not None:
        raise InputError("give the number of corpus programs in all or per family, not both")
    named = parse_set(text, where=WHERE)
    if isinstance(named, CorpusPart):
        named = _part(named, seed, programs, per_family)
    environments: dict[str, SuiteEnvironment] = {}
    for entry in load_set(named, where=WHERE, expected=f"{EXPECTED}, or FILE.jsonl of problems"):
        name = entry.path or entry.name
        environment = SuiteEnvironment(entry.id, entry.source, entry.family, name, entry.controller, entry.modules)
        environments.setdefault(environment.id, environment)
    return EnvironmentSuite(text, tuple(environments.values()), tuple(difficulties), instances, seed)


def _part(part: CorpusPart, seed: int, programs: int | None, per_family: int | None) -> CorpusPart:
    """Give the part of the corpus the seed of the evaluation and as many different programs as asked for."""
    for name, count in (("programs", programs), ("per_family", per_family)):
        if count is not None and count < 1:
            raise InputError(f"{name} is {count}; expected 1 or more corpus programs")
    if part.split == "all":
        # All families together are no suite: held-out ones would go unnoticed among those that were taught.
        raise InputError(f"{WHERE}: name a split of the corpus: {SPLITS_IN_WORDS}, as in corpus:held-out")
    if part.count is not None and (programs is not None or per_family is not None):
        raise InputError(
            f"{WHERE}: corpus:{part.split}:{part.count} gives the number of programs; leave the other one out"
        )
    return replace(
        part,
        count=programs or part.count,
        per_family=per_family or 1,
        seed=derive_seed("evaluation", seed),
        distinct=True,
    )
