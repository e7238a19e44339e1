"""What every suite offers to `evaluate`: problems to ask, and a verdict on each response."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, Self

from evoenv.records import Message

if TYPE_CHECKING:
    from evoenv.sandbox.host import Sandbox


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing to be asked. `group` names the environment it belongs to, if it belongs to one."""

    id: str
    messages: tuple[Message, ...]
    group: str = ""
    facts: dict[str, Any] = field(default_factory=dict)
    """What the results file says of it besides: seed, difficulty, reference."""


@dataclass(frozen=True, slots=True)
class BadProblem:
    """A problem that could not be posed: its environment does not load, or generating the instance failed."""

    id: str
    reason: str
    group: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a response is worth. `failure` says why the grader could not do its work; the score is 0 then."""

    score: float
    format_ok: bool = True
    answer: str | None = None
    failure: str | None = None
    detail: str | None = None
    """What is wrong with a wrong answer, if the grader can say."""


class OpenSuite(Protocol):
    """A suite at work: its problems are posed, its graders are running. `grade` is called from many threads."""

    @property
    def problems(self) -> Sequence[Problem]: ...

    @property
    def bad(self) -> Sequence[BadProblem]: ...

    def grade(self, problem: Problem, response: str) -> Verdict: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class Suite(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def seed(self) -> int: ...

    @property
    def modules(self) -> Sequence[str]:
        """Modules beyond the allow-list that the suite's environments may import; its sandbox must have them."""

    def identity(self) -> dict[str, Any]:
        """Return what must not change between two sittings of one evaluation, as JSON values."""

    def open(self, sandbox: Sandbox) -> OpenSuite: ...

    def group_names(self) -> dict[str, tuple[str, str]]:
        """Return the name and family of every group, by its id."""
