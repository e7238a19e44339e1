"""Waits that end: verl's own calls wait for ever, and a process that died in a collective never answers."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

from evoenv.errors import PolicyError

T = TypeVar("T")


class EngineLost(PolicyError):
    """A part of the engine died or fell silent. The run is whole: it resumes from its last checkpoint."""


def within(seconds: float, work: str, call: Callable[..., T], *arguments: Any, logs: str = "") -> T:
    """Call a function that may block, and raise EngineLost if it is not done in time.

    The call goes on in its thread: it cannot be taken back. Whoever catches the error must give the engine up. `logs`
    says in words where to look.
    """
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(call(*arguments))
        except BaseException as error:  # handed to the caller's thread, which raises it
            errors.append(error)

    thread = threading.Thread(target=run, name=f"evoenv: {work}", daemon=True)
    thread.start()
    thread.join(seconds)
    if errors:
        raise errors[0]
    if not results:
        raise EngineLost(
            f"{work} took more than {seconds:g} s (engine.patience_seconds): a process has died or hangs. "
            f"Look into {logs or 'the logs of Ray'}, then continue with --resume"
        )
    return results[0]


def last_line(error: BaseException, limit: int = 500) -> str:
    """Return the last line of an error's text, which for a remote error is what was raised there."""
    lines = [line for line in str(error).strip().splitlines() if line.strip()]
    return (lines[-1].strip() if lines else type(error).__name__)[:limit]
