"""Work in the sandbox for many things at once, on all cores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from evoenv.stages.context import Run

Item = TypeVar("Item")
Result = TypeVar("Result")


def on_all_cores(run: Run, name: str, work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Yield the result for each item, in order; `name` is that of the threads.

    If the stages of the step overlap, samples are taken in and asked for meanwhile.
    """
    with ThreadPoolExecutor(run.sandbox.workers, thread_name_prefix=f"evoenv-{name}") as threads:
        futures = [threads.submit(work, item) for item in items]
        try:
            for future in futures:
                if run.conversation is not None:
                    run.conversation.until([future])
                yield future.result()
        finally:
            for future in futures:
                future.cancel()
