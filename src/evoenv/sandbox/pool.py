"""Live workers for many environments: the least recently used one makes room, all cores are kept busy."""

from __future__ import annotations

import contextlib
import json
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Self

from evoenv.records import Instance, Score
from evoenv.sandbox.host import EnvironmentWorker, Sandbox
from evoenv.sandbox.outcomes import Outcome


@dataclass(frozen=True, slots=True)
class Job:
    """One batched call on one environment. `options` are those of `Sandbox.open`."""

    source: str
    op: str
    items: Sequence[Any]
    args: dict[str, Any] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    total_s: float | None = None
    stop_on_death: bool = False


@dataclass(frozen=True, slots=True)
class _Idle:
    worker: EnvironmentWorker
    memory_mb: float


class WorkerPool:
    """At most `capacity` idle workers with `memory_mb` between them, keyed by source and options. Thread-safe.

    A worker is lent to one caller at a time. Deaths are handled below this level: the outcomes say which
    call died and why, and the worker is alive again at its next call. An idle worker stands still, so that
    what it held when it came back is what it holds.
    """

    def __init__(self, sandbox: Sandbox, capacity: int = 64, memory_mb: float = 2048) -> None:
        self._sandbox = sandbox
        self._capacity = capacity
        self._memory_mb = memory_mb
        self._lock = threading.Lock()
        self._idle: OrderedDict[str, _Idle] = OrderedDict()
        self._threads: ThreadPoolExecutor | None = None
        self._closed = False

    def run(self, jobs: Sequence[Job]) -> list[list[Outcome]]:
        """Run all jobs over all cores; return outcomes in the order of the jobs."""
        results: list[list[Outcome]] = [[] for _ in jobs]
        by_worker: dict[str, list[int]] = {}
        for index, job in enumerate(jobs):
            by_worker.setdefault(_key(job.source, job.options), []).append(index)

        def run_on_one_worker(indices: list[int]) -> None:
            first = jobs[indices[0]]
            with self.worker(first.source, **first.options) as worker:
                for index in indices:
                    job = jobs[index]
                    results[index] = worker.call(
                        job.op, job.items, job.args, total_s=job.total_s, stop_on_death=job.stop_on_death
                    )

        if len(by_worker) == 1:
            run_on_one_worker(next(iter(by_worker.values())))
        else:
            list(self._executor().map(run_on_one_worker, by_worker.values()))
        return results

    def instances(self, source: str, seeds: Sequence[int], difficulty: int, **options: Any) -> list[Instance | None]:
        with self.worker(source, **options) as worker:
            return worker.instances(seeds, difficulty)

    def score(self, source: str, items: Sequence[tuple[int, int, str]], **options: Any) -> list[Score]:
        with self.worker(source, **options) as worker:
            return worker.score(items)

    @contextlib.contextmanager
    def worker(self, source: str, **options: Any) -> Iterator[EnvironmentWorker]:
        """Borrow the worker of a source, opened if need be; nobody else has it meanwhile."""
        key = _key(source, options)
        with self._lock:
            idle = self._idle.pop(key, None)
        worker = self._sandbox.open(source, **options) if idle is None else idle.worker
        try:
            yield worker
        finally:
            self._take_back(key, worker)

    def _take_back(self, key: str, worker: EnvironmentWorker) -> None:
        back = _Idle(worker, worker.memory_mb)
        with self._lock:
            surplus = [back] if self._closed or key in self._idle else []
            if not surplus:
                self._idle[key] = back
                while len(self._idle) > self._capacity or self._held_mb() > self._memory_mb:
                    surplus.append(self._idle.popitem(last=False)[1])
        for spare in surplus:
            spare.worker.close()

    def _held_mb(self) -> float:
        return sum(idle.memory_mb for idle in self._idle.values())

    def _executor(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._threads is None:
                self._threads = ThreadPoolExecutor(self._sandbox.workers, thread_name_prefix="evoenv-sandbox")
            return self._threads

    def close(self) -> None:
        """End the idle workers now and the lent ones as they come back. The sandbox stays open."""
        with self._lock:
            self._closed = True
            idle, self._idle = list(self._idle.values()), OrderedDict()
            threads, self._threads = self._threads, None
        for entry in idle:
            entry.worker.close()
        if threads is not None:
            threads.shutdown()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _key(source: str, options: Mapping[str, Any]) -> str:
    return source if not options else source + "\0" + json.dumps(options, sort_keys=True)
