"""Programs that a model wrote, judged by tests: in the sandbox, one worker per program.

Two kinds of test, as LiveCodeBench has them: text on standard input and what must be printed, or arguments of a
function and what it must return. The host compares; the program never sees what is expected.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, Self, TypeAlias

from evoenv.assembly import open_sandbox
from evoenv.environment.answers import extract_answer
from evoenv.sandbox.host import EnvironmentWorker, Limits
from evoenv.sandbox.outcomes import Failed, Outcome
from evoenv.thinking import drop_thinking

GUEST = Path(__file__).parent / "guests" / "programs.py"
TIME_LIMIT_S = 6.0
TOTAL_LIMIT_S = 10.0
"""CPU time of all calls of one function: a program that is slow on each of them is not waited for."""
LIMITS = Limits(cpu_s=TIME_LIMIT_S, memory_mb=1024, reply_mb=16)
MAX_PROGRAM = 200_000
"""Characters."""
SHOWN = 80

_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class StdinTest:
    stdin: str
    stdout: str


@dataclass(frozen=True, slots=True)
class FunctionTest:
    function: str
    arguments: tuple[Any, ...]
    result: Any


ProgramTest: TypeAlias = StdinTest | FunctionTest


class ProgramGrader:
    """`judge` may be called from many threads."""

    def __init__(self, *, allow_degraded: bool = False, limits: Limits = LIMITS) -> None:
        self._sandbox = open_sandbox(limits=limits, allow_degraded=allow_degraded, runtime=GUEST)

    def judge(
        self, program: str, tests: Sequence[ProgramTest], time_limit_s: float = TIME_LIMIT_S
    ) -> tuple[bool, str | None]:
        """Say whether the program passes every test; if not, what went wrong at the first that it fails."""
        if len(program) > MAX_PROGRAM:
            return False, f"the program has {len(program):,} characters; at most {MAX_PROGRAM:,} are run"
        with self._sandbox.open(program) as worker:
            if worker.failure is not None:
                return False, f"the program does not compile: {worker.failure.message}"
            for number, test in enumerate(tests, 1):
                if (problem := _run(worker, test, time_limit_s)) is not None:
                    return False, f"test {number} of {len(tests)}: {problem}"
        return True, None

    def run_function(
        self, program: str, function: str, calls: Sequence[Sequence[Any]], time_limit_s: float = TIME_LIMIT_S
    ) -> list[Any]:
        """Call a function of the program once for each list of arguments; None for a call that failed."""
        if len(program) > MAX_PROGRAM:
            return [None] * len(calls)
        with self._sandbox.open(program) as worker:
            if worker.failure is not None:
                return [None] * len(calls)
            items = [[function, list(arguments)] for arguments in calls]
            outcomes = worker.call("function", items, cpu_s=time_limit_s, total_cpu_s=TOTAL_LIMIT_S)
        return [None if isinstance(outcome, Failed) else outcome.value for outcome in outcomes]

    def close(self) -> None:
        self._sandbox.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _run(worker: EnvironmentWorker, test: ProgramTest, time_limit_s: float) -> str | None:
    """Say what is wrong with the program's work on a test; None if nothing is."""
    outcome: Outcome
    if isinstance(test, StdinTest):
        (outcome,) = worker.call("stdin", [test.stdin], cpu_s=time_limit_s)
        if isinstance(outcome, Failed):
            return outcome.message
        if not isinstance(outcome.value, str) or not same_text(outcome.value, test.stdout):
            return f"printed {_shown(outcome.value)}, expected {_shown(test.stdout)}"
        return None
    (outcome,) = worker.call("function", [[test.function, list(test.arguments)]], cpu_s=time_limit_s)
    if isinstance(outcome, Failed):
        return outcome.message
    if not same_value(outcome.value, test.result):
        return f"returned {_shown(outcome.value)}, expected {_shown(test.result)}"
    return None


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


# --------------------------------------------------------------------------- comparing


def same_text(printed: str, expected: str) -> bool:
    """Compare line by line, without surrounding spaces; numbers may be written in another way (`1.0` for `1`)."""
    ours, theirs = ([line.strip() for line in text.strip().split("\n")] for text in (printed, expected))
    return len(ours) == len(theirs) and all(
        one == other or same_numbers(one, other) for one, other in zip(ours, theirs, strict=True)
    )


def same_numbers(one: str, other: str) -> bool:
    ours, theirs = one.split(), other.split()
    if len(ours) != len(theirs):
        return False
    try:
        return all(Decimal(mine) == Decimal(yours) for mine, yours in zip(ours, theirs, strict=True))
    except InvalidOperation:
        return False


def same_value(returned: Any, expected: Any) -> bool:
    """Compare as JSON: numbers by value, but True is no 1."""
    if isinstance(returned, bool) or isinstance(expected, bool):
        return returned is expected
    if isinstance(returned, list) and isinstance(expected, list):
        return len(returned) == len(expected) and all(map(same_value, returned, expected))
    if isinstance(returned, dict) and isinstance(expected, dict):
        return returned.keys() == expected.keys() and all(same_value(returned[key], expected[key]) for key in expected)
    return bool(returned == expected)


# --------------------------------------------------------------------------- cutting the program out of a response


def extract_program(response: str) -> str | None:
    """Return the last fenced block after the thinking; else what stands in the answer tags without a fence."""
    text = drop_thinking(response)
    return _last_block(text) or (None if _FENCE.search(text) else extract_answer(response))


def _last_block(text: str) -> str | None:
    """Return the content of the fenced block that closes last; a fence closes what it repeats."""
    opened: re.Match[str] | None = None
    block: str | None = None
    for fence in _FENCE.finditer(text):
        if opened is None:
            opened = fence
        elif fence[0].strip() == fence[1] and fence[1].startswith(opened[1]):
            block, opened = text[opened.end() + 1 : fence.start()], None
    return block if block is not None and block.strip() else None
