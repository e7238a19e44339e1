"""Suites of environments: the seeds, a run's pool, a file or a folder in any dialect, programs of the corpus."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, get_args

from evoenv.environment.answers import extract_answer
from evoenv.environment.seeds import seed_sources
from evoenv.errors import InputError
from evoenv.evaluation.suite import BadProblem, Problem, Verdict
from evoenv.prompts.solver import SOLVER_PROMPT, solver_messages
from evoenv.records import Instance, derive_seed, environment_id
from evoenv.sandbox.pool import WorkerPool

if TYPE_CHECKING:
    from evoenv.corpus import Split
    from evoenv.sandbox.host import Sandbox

SOURCE_SUFFIXES = (".py", ".md", ".txt")


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
    """Modules beyond the allow-list that were allowed by name when it was imported."""

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

    @property
    def modules(self) -> tuple[str, ...]:
        return tuple(sorted({module for environment in self.environments for module in environment.modules}))

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


class OpenEnvironments:
    """The suite's instances, generated in the sandbox; those that died are kept with the reason."""

    def __init__(self, suite: EnvironmentSuite, sandbox: Sandbox) -> None:
        self._suite = suite
        self._environments = {environment.id: environment for environment in suite.environments}
        self._workers = WorkerPool(sandbox)
        self.problems: list[Problem] = []
        self.bad: list[BadProblem] = []
        try:
            with ThreadPoolExecutor(sandbox.workers, thread_name_prefix="evoenv-evaluation") as threads:
                for posed, failed in threads.map(self._pose, suite.environments):
                    self.problems += posed
                    self.bad += failed
        except BaseException:
            self._workers.close()
            raise

    def _pose(self, environment: SuiteEnvironment) -> tuple[list[Problem], list[BadProblem]]:
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

    def grade(self, problem: Problem, response: str) -> Verdict:
        answer = extract_answer(response)
        if answer is None:
            return Verdict(0.0, format_ok=False)
        environment = self._environments[problem.group]
        item = (int(problem.facts["seed"]), int(problem.facts["difficulty"]), answer)
        (score,) = self._workers.score(environment.source, [item], **_options(environment))
        return Verdict(score.value, answer=answer, failure=score.failure)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._workers.close()


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
    """`seeds`, a split of the corpus such as `corpus:held-out`, `run:DIR`, a folder or a file.

    Of the corpus: `programs` of them in all, or `per_family` of every family (one where neither is said). They are
    composed from `seed`, apart from those that a warm start with the same number learns from.
    """
    check_instances(text, difficulties, instances)  # before programs are composed
    if programs is not None and per_family is not None:
        raise InputError("give the number of corpus programs in all or per family, not both")
    kind, _, rest = text.partition(":")
    if text == "seeds":
        found = [
            SuiteEnvironment(environment_id(source), source, name, name) for name, source in seed_sources().items()
        ]
    elif kind == "corpus":
        found = _corpus(rest, seed, programs, per_family)
    elif kind == "run" and rest:
        found = _pool(Path(rest))
    else:
        found = _files(Path(text))
    return EnvironmentSuite(text, tuple(_distinct(found)), tuple(difficulties), instances, seed)


def _corpus(split: str, seed: int, programs: int | None, per_family: int | None) -> list[SuiteEnvironment]:
    from evoenv.corpus import Author, Program

    for name, count in (("programs", programs), ("per_family", per_family)):
        if count is not None and count < 1:
            raise InputError(f"{name} is {count}; expected 1 or more corpus programs")
    author = Author(derive_seed("evaluation", seed), _split(split))
    found: dict[str, Program] = {}

    def add(program: Program) -> bool:
        fresh = program.source not in found
        found.setdefault(program.source, program)
        return fresh

    if programs is not None:
        index = 0
        while len(found) < programs:
            add(author.compose(index))
            index += 1
    else:
        for family in author.families:
            index = fresh = 0
            while fresh < (per_family or 1):
                fresh += add(author.compose_family(family, index))
                index += 1
    return [
        SuiteEnvironment(environment_id(source), source, program.family, program.name)
        for source, program in found.items()
    ]


def _split(text: str) -> Split:
    from evoenv.corpus import Split

    # All families together are no suite: held-out ones would go unnoticed among those that were taught.
    *others, last = known = [name for name in get_args(Split) if name != "all"]
    if text in known:
        return text  # type: ignore[return-value]  # narrowed by the test above
    raise InputError(f"the corpus has no split {text!r}; expected {', '.join(others)} or {last}, as in corpus:held-out")


def _pool(directory: Path) -> list[SuiteEnvironment]:
    """The active pool of a run; families are its environments' own names."""
    from evoenv.store.store import Store

    with Store.read(directory) as store:
        brought = store.provenance()
        return [
            SuiteEnvironment(
                record.id,
                store.source(record.id) or "",
                record.name,
                record.name,
                modules=tuple(brought.get(record.id, {}).get("modules", ())),
            )
            for record in store.environments()
            if record.active
        ]


def _files(path: Path) -> list[SuiteEnvironment]:
    from evoenv.environment.files import find_controller, read_controller, read_source

    try:
        if path.is_dir():
            files = sorted(file for file in path.rglob("*") if _is_environment(file, path))
            if not files:
                raise InputError(f"the folder {path} holds no environment file ({', '.join(SOURCE_SUFFIXES[:1])})")
        elif path.exists():
            files = [path]
        else:
            raise InputError(
                f"no suite {str(path)!r}; expected seeds, corpus:SPLIT (train, basic, paired, held-out, near), "
                "run:DIR, or the path of an environment file or a folder of them"
            )
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error
    found = []
    for file in files:
        source, problem = read_source(file)
        if problem is not None:
            raise InputError(f"{file}: {problem.message}; {problem.hint}")
        name = str(file.relative_to(path)) if file != path else file.name
        controller = read_controller(find_controller(file))
        found.append(SuiteEnvironment(environment_id(source), source, "", name, controller))
    return found


def _is_environment(file: Path, root: Path) -> bool:
    """Python files that may hold an environment: not hidden, no package marker, no RLVE-Gym controller or base."""
    hidden = any(part.startswith((".", "__")) for part in file.relative_to(root).parts)
    return file.suffix == ".py" and not hidden and file.name != "parameter_controller.py" and file.is_file()


def _distinct(environments: Iterable[SuiteEnvironment]) -> list[SuiteEnvironment]:
    """Each content once: the same file under two names is one environment."""
    found: dict[str, SuiteEnvironment] = {}
    for environment in environments:
        found.setdefault(environment.id, environment)
    return list(found.values())
