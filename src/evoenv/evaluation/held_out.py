"""RLVE's held-out test as a suite: its own 2,500 instances of 50 environments, scored by the environments themselves.

An instance is given whole, as RLVE's own evaluation restores it: nothing is generated, the environment gets the
parameters and scores the answer.
"""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evoenv.environment.files import imported_modules
from evoenv.environment.held_out import CLASS_SUFFIX, HeldOutInstance, class_names, find_environments, read_held_out
from evoenv.environment.sets import read_file
from evoenv.errors import InputError
from evoenv.evaluation.environments import ScoredByEnvironments, ScoredInstance, SuiteEnvironment
from evoenv.evaluation.suite import BadProblem, Problem
from evoenv.prompts.solver import SOLVER_PROMPT, solver_messages

if TYPE_CHECKING:
    from evoenv.sandbox.host import Sandbox

PREFIX = "rlve-held-out"
LIBRARIES = ("networkx", "numpy", "sympy")
"""What RLVE-Gym's environments import beyond the allow-list; whoever names the suite allows them to it."""
THRESHOLD = "evoenv:threshold"
"""Under which name the instance's own threshold travels among its parameters."""
ROUNDING = 1e-6
"""RLVE's tolerance of scores, used for thresholds below 1, which are scores of its own solutions."""
GIVEN = '''

class Given({own}):
    """An instance that is given whole."""

    def _generate(self):
        self.passing_reward_threshold = self.parameter.pop({threshold!r})


for other in {others!r}:
    if not issubclass(Given, globals()[other]):
        del globals()[other]
'''
"""Added to a source. A file may hold several environments: those that are not meant are taken away."""


@dataclass(frozen=True, slots=True)
class HeldOutSuite:
    """RLVE's held-out instances, each with the environment that scores it."""

    name: str
    instances: Sequence[HeldOutInstance]
    by_name: dict[str, SuiteEnvironment]
    """The environments by RLVE's names for them."""
    seed: int = 0

    @property
    def environments(self) -> Sequence[SuiteEnvironment]:
        return tuple(self.by_name.values())

    @property
    def modules(self) -> tuple[str, ...]:
        """What the sandbox of this suite must be opened with, beyond the allow-list."""
        return tuple(sorted({module for item in self.environments for module in item.modules}))

    def identity(self) -> dict[str, Any]:
        content = hashlib.sha256()
        for environment in self.environments:
            content.update(f"{environment.id}\0{environment.source}\0".encode())
        for instance in self.instances:
            content.update(f"{instance}\0".encode())
        return {
            "kind": PREFIX,
            "environments": len(self.environments),
            "problems": len(self.instances),
            "content": content.hexdigest()[:32],
            "seed": self.seed,
            "prompt": SOLVER_PROMPT,
        }

    def group_names(self) -> dict[str, tuple[str, str]]:
        return {item.id: (item.label, item.family) for item in self.environments}

    def open(self, sandbox: Sandbox) -> OpenHeldOut:
        return OpenHeldOut(self, sandbox)


def held_out_suite(text: str, checkout: Path, *, seed: int = 0, limit: int | None = None) -> HeldOutSuite:
    """Make the suite of an RLVE checkout's held-out instances, the first `limit` of them."""
    if limit is not None and limit < 1:
        raise InputError(f"the limit is {limit}; expected 1 or more problems")
    instances = read_held_out(checkout)[:limit]
    files = find_environments(checkout, (instance.environment for instance in instances))
    by_name: dict[str, SuiteEnvironment] = {}
    for name, file in files.items():
        entry = read_file(file, checkout / "Gym")
        if entry.problem is not None:
            raise InputError(f"{file}: {entry.problem.message}; {entry.problem.hint}")
        modules = tuple(sorted(imported_modules(entry.source) & set(LIBRARIES)))
        by_name[name] = SuiteEnvironment(entry.id, entry.source, name, name, entry.controller, modules)
    suite = HeldOutSuite(text, tuple(instances), by_name, seed)
    if missing := [module for module in suite.modules if importlib.util.find_spec(module) is None]:
        raise InputError(f"some held-out environments import {missing[0]}; install it: pip install {missing[0]}")
    return suite


class OpenHeldOut(ScoredByEnvironments):
    """The suite at work; an environment that does not load takes its instances out, with the reason."""

    def __init__(self, suite: HeldOutSuite, sandbox: Sandbox) -> None:
        self._suite = suite
        self._sources: dict[str, str] = {}
        self._parameters: dict[str, list[dict[str, Any]]] = {}
        super().__init__(sandbox)

    def _pose(self, sandbox: Sandbox) -> None:
        by_name: dict[str, list[tuple[int, HeldOutInstance]]] = {}
        for number, instance in enumerate(self._suite.instances):
            by_name.setdefault(instance.environment, []).append((number, instance))
        posed: dict[int, Problem] = {}
        for name, rows in by_name.items():
            environment = self._suite.by_name[name]
            self._sources[name] = _given(environment.source, name + CLASS_SUFFIX)
            self._parameters[name] = [_parameters(instance) for _, instance in rows]
            with self._workers.worker(self._sources[name], **self._options(name)) as worker:
                (first,) = worker.instances([rows[0][1].seed], 0)
                reason = "" if first is not None else worker.failures[0].message
            for level, (number, instance) in enumerate(rows):
                problem_id = f"{name}/{number}"
                if reason:
                    self.bad.append(BadProblem(problem_id, reason, environment.id))
                else:
                    facts = {"environment": name, "seed": instance.seed, "level": level}
                    posed[number] = Problem(problem_id, solver_messages(instance.prompt), environment.id, facts)
        self.problems = [posed[number] for number in sorted(posed)]

    def _options(self, name: str) -> dict[str, Any]:
        return {"parameters": self._parameters[name]}

    def _instance_of(self, problem: Problem) -> ScoredInstance:
        name, facts = str(problem.facts["environment"]), problem.facts
        return ScoredInstance(self._sources[name], int(facts["seed"]), int(facts["level"]), self._options(name))


def _given(source: str, own: str) -> str:
    """Return a source whose environment takes its instances as they are."""
    others = [name for name in class_names(source) if name != own]
    return source + GIVEN.format(own=own, threshold=THRESHOLD, others=others)


def _parameters(instance: HeldOutInstance) -> dict[str, Any]:
    threshold = instance.threshold if instance.threshold >= 1.0 else instance.threshold - ROUNDING
    return {**instance.parameter, THRESHOLD: threshold}
