"""What a call to a worker comes to, and how much a worker may use."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

FailureKind: TypeAlias = Literal[
    "exception",  # candidate code raised
    "timeout",  # too much CPU or wall-clock time; killed
    "memory",  # MemoryError, or killed for memory
    "killed",  # crashed, exited, or made a forbidden system call
    "protocol",  # wrote what no honest worker writes; killed
    "oversize",  # the result (or the request) is larger than a call may carry
    "aborted",  # never ran: an earlier call ended the worker, or the environment does not load
]


@dataclass(frozen=True, slots=True)
class Ok:
    """The worker's result, as plain JSON values."""

    value: Any


@dataclass(frozen=True, slots=True)
class Failed:
    """No result, and why. `error` and `line` name the candidate's exception and where it was raised."""

    kind: FailureKind
    message: str
    error: str = ""
    line: int | None = None


Outcome: TypeAlias = Ok | Failed


@dataclass(frozen=True, slots=True)
class Limits:
    """What one worker may use. Time is judged by the worker's CPU clock: a busy machine is not its fault."""

    cpu_s: float = 5.0
    """CPU time of one item of a call."""
    wall_s: float | None = None
    """Wall-clock backstop of one item; 4 × cpu_s + 2 where None."""
    memory_mb: int = 512
    """Memory beyond the bare interpreter's."""
    reply_mb: int = 16
    """All results of one call."""
    request_mb: int = 64
    """All items of one call."""
    deaths_per_call: int = 8
    """After so many workers died in one call the rest of its items is given up."""
    lifetime_cpu_s: int = 600
    """A worker that has used half of this is replaced between calls; the kernel ends it at all of it."""

    def wall_for(self, cpu_s: float) -> float:
        return self.wall_s if self.wall_s is not None else 4 * cpu_s + 2

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)
