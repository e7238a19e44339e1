"""What a call to a worker comes to, and how much a worker may use."""

from __future__ import annotations

import reprlib
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

from evoenv.records import Score
from evoenv.sandbox.guest import codec

FailureKind: TypeAlias = Literal[
    "exception",  # candidate code raised
    "timeout",  # too much CPU time, or waiting without end; killed
    "memory",  # MemoryError, or killed for memory
    "killed",  # crashed, exited, or made a forbidden system call
    "protocol",  # wrote what no honest worker writes; killed
    "oversize",  # the result (or the request) is larger than a call may carry
    "aborted",  # never ran: an earlier call ended the worker, or the environment does not load
]

WAITED = "Waited"
"""`Failed.error` of a call that was ended because it waited without computing: no busy machine makes it do that."""


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
    value: float | None = None
    """The score that was refused, if it is a finite number outside the range."""


Outcome: TypeAlias = Ok | Failed


@dataclass(frozen=True, slots=True)
class Limits:
    """What one worker may use. Time is judged by the worker's CPU clock: a busy machine is not its fault."""

    cpu_s: float = 5.0
    """CPU time of one item of a call."""
    wall_s: float | None = None
    """Seconds that one item may wait without computing (time in the queue for a core aside); 4 × cpu_s + 2 if None."""
    memory_mb: int = 512
    """Memory beyond the bare interpreter's."""
    reply_mb: int = 8
    """All results of one call (and `guest/shape.py` bounds the values in them)."""
    request_mb: int = 64
    """All items of one call."""
    deaths_per_call: int = 8
    """After this many workers died in one call the rest of its items is given up."""
    lifetime_cpu_s: int = 600
    """A worker that has used half of this is replaced between calls; the kernel ends it at all of it."""

    def wall_for(self, cpu_s: float) -> float:
        return self.wall_s if self.wall_s is not None else 4 * cpu_s + 2

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


_ERROR_KINDS: dict[str, FailureKind] = {"MemoryError": "memory", "OversizeError": "oversize"}


def outcome_of(result: Any) -> Outcome:
    """Read `["ok", value]` or `["err", type, message, line]`, the latter with a refused score behind it or not.

    Anything else was forged.
    """
    if type(result) is list and result:
        if result[0] == "ok" and len(result) == 2:
            return Ok(result[1])
        if result[0] == "err" and len(result) in (4, 5):
            _, error, message, line, *values = result
            named = type(error) is str and type(message) is str and (line is None or type(line) is int)
            if named and all(type(value) is float for value in values):
                kind = _ERROR_KINDS.get(error, "exception")
                return Failed(kind, printable(message[:2000]), printable(error[:200]), line, *values)
    return Failed("protocol", "the result is neither ok nor err: it was forged inside the worker")


def printable(text: str) -> str:
    """Escape what is not printable: messages end on terminals, where a candidate's escape sequences must not get."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


MAX_ANSWER_PARTS = 5000
"""Parts of a reference answer. More is no answer; and decoding a set of many integers that were made to collide
would take the host minutes."""


def parts_of(value: Any, most: int = MAX_ANSWER_PARTS) -> int:
    """Count the parts of an encoded value, as far as just beyond `most`."""
    count, stack = 0, [value]
    while stack and count <= most:
        part = stack.pop()
        # Integers beyond a machine word can be made to collide when they are hashed: few of them are enough.
        count += 10 if type(part) is int and part.bit_length() > 60 else 1
        if isinstance(part, list):
            stack += part
        elif isinstance(part, dict):
            stack += part.values()
    return count


def is_encoded(value: Any) -> bool:
    """Say whether a value is small enough to decode, and decodes to something that can be written as text."""
    if value is None or type(value) in (bool, float) or (type(value) is int and value.bit_length() < 64):
        return True
    if parts_of(value) > MAX_ANSWER_PARTS:
        return False
    try:
        codec.encode(codec.decode(value))
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError, OverflowError):
        return False
    return True


def is_prompt(value: Any) -> bool:
    return type(value) is str and len(value) <= codec.MAX_PROMPT


def checked_instance(outcome: Outcome) -> Outcome:
    """Return the result of `instances` if it has the shape of one, else a failure: what it holds is decoded here."""
    if isinstance(outcome, Ok):
        value = outcome.value
        if type(value) is not list or len(value) < 3 or not is_prompt(value[0]) or not is_encoded(value[2]):
            return Failed(
                "protocol",
                "the instance is too large, or not [prompt, latent, reference]: it was forged inside the worker",
            )
    return outcome


def score_of(outcome: Outcome) -> Score:
    """Read the result of `score`: a number in [0, 1], or 0 and the reason."""
    if isinstance(outcome, Failed):
        return Score(0.0, failure=outcome.message)
    value = outcome.value
    # Exact types: a worker can forge what it likes, but only JSON comes through, and only numbers count.
    if type(value) not in (float, int) or not 0.0 <= value <= 1.0:
        return Score(0.0, failure=f"the scorer returned {reprlib.repr(value):.60}, expected a number in [0, 1]")
    return Score(float(value))
