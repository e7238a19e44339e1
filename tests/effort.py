"""What work costs, told in a way that holds on any machine.

A test that asserts seconds fails on a slow or busy machine, so none does (`test_boundaries.py` sees to it). Instead it
- counts work: `calls`, or what the thing itself counts (rows, bytes, requests, pauses);
- compares two costs that were measured side by side: `assert_costs_at_most`, `assert_linear`;
- says only that nothing hangs: a `timeout=HANG_S`, or `becomes_true`.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

Text = TypeVar("Text", str, bytes)

HANG_S = 300.0
"""Seconds after which something hangs. For what takes at most 30 s on a quiet machine (most takes less than one): ten
times as long means that something is wrong, not that the machine is busy. Longer tests have pytest's own 900 s."""

ROUNDS = 5
"""How often a cost is measured before it counts as too high: each is the least of its rounds, so that what else the
machine did for a moment does not matter."""


def calls(action: Callable[[], object]) -> int:
    """Count the calls that an action makes in this thread, of functions in Python and in C."""
    count = 0

    def profile(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        action()
    finally:
        sys.setprofile(before)
    return count


def assert_costs_at_most(times: float, work: Callable[[], object], reference: Callable[[], object]) -> None:
    """Fail where `work` takes more than `times` the CPU time of `reference`, each measured in turn.

    Choose `times` wide: several times what is usual, and far below what the fault would cost that you look for.
    """
    least_work = least_reference = float("inf")
    for _ in range(ROUNDS):
        least_work = min(least_work, _cpu_time(work))
        least_reference = min(least_reference, _cpu_time(reference))
        if least_work <= times * least_reference:
            return
    raise AssertionError(
        f"it took {least_work / least_reference:.1f} times the CPU time of its reference, expected at most {times:g} "
        f"times: look for a step whose cost grows faster than its input"
    )


def assert_linear(work: Callable[[Text], object], text: Text, *, pieces: int = 64, times: float = 4.0) -> None:
    """Fail where one long text costs much more than many short ones that are as long together.

    The short ones are its beginning, `pieces` times. Linear work takes about as long for both (up to 1.5 times was
    seen), quadratic work up to `pieces` times as long for the long one.
    """
    beginning = text[: len(text) // pieces]

    def in_pieces() -> None:
        for _ in range(pieces):
            work(beginning)

    assert_costs_at_most(times, lambda: work(text), in_pieces)


def becomes_true(condition: Callable[[], object]) -> bool:
    """Wait for a condition; False where it does not come true before it counts as hanging."""
    deadline = time.monotonic() + HANG_S
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def _cpu_time(action: Callable[[], object]) -> float:
    """CPU time of one run, without collecting the garbage that earlier tests have left."""
    collects = gc.isenabled()
    gc.disable()
    try:
        start = time.process_time()
        action()
        return time.process_time() - start
    finally:
        if collects:
            gc.enable()
