"""The sandbox's front door: open a source, call it in batches, close it.

    with Sandbox() as sandbox, sandbox.open(source) as worker:
        instances = worker.instances(seeds=[1, 2, 3], difficulty=0)
        scores = worker.score([(1, 0, "42")])

Candidate code runs in a worker process of its own behind the kernel's walls (`guest/lockdown.py`). Whatever
it does there ends as an `Outcome`; a worker that dies is replaced, and the message says which call died
and why.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

from evoenv.errors import SandboxError, SandboxUnavailable
from evoenv.records import Instance, Score
from evoenv.sandbox.imports import DEFAULT_IMPORTS
from evoenv.sandbox.launcher import Zygote
from evoenv.sandbox.layers import CanaryResult, layer_is_on, run_canaries
from evoenv.sandbox.outcomes import Failed, Limits, Ok, Outcome, checked_instance, outcome_of, score_of
from evoenv.sandbox.process import Death, RequestTooLargeError, WorkerProcess
from evoenv.sandbox.protocol import Budget

__all__ = ["DEFAULT_IMPORTS", "EnvironmentWorker", "Failed", "Limits", "Ok", "Outcome", "Sandbox", "outcome_of"]

logger = logging.getLogger(__name__)
T = TypeVar("T")

SPAWN_RETRY_S = 0.2
DEFAULT_HASH_SEED = 1
"""Fixed, so that two runs of one suite agree; determinism checks use the twin's other seed."""


class Sandbox:
    """A zygote (and, on demand, its twin with another hash seed) that forks one worker per environment."""

    def __init__(
        self,
        limits: Limits = Limits(),  # noqa: B008 - frozen
        *,
        hash_seed: int | None = None,
        allow_degraded: bool = False,
        workers: int | None = None,
        without: Sequence[str] = (),
        runtime: Path | None = None,
        modules: Sequence[str] = (),
    ) -> None:
        """Prepare a sandbox.

        `modules` are trusted by name beyond the allow-list: they are imported before the walls go up.

        `without` leaves layers off and `runtime` replaces `guest/runtime.py`: for tests of the sandbox itself.
        """
        self.limits = limits
        self.workers = workers if workers is not None else _usable_cores()
        self._seeds = _hash_seeds(hash_seed)
        self.allow_degraded = allow_degraded
        self._without = tuple(without)
        self._runtime = runtime
        self.modules = tuple(modules)
        self._lock = threading.RLock()
        self._zygotes: dict[bool, Zygote] = {}
        self._closed = False
        self._processes: weakref.WeakSet[WorkerProcess] = weakref.WeakSet()
        self.layers: tuple[str, ...] = ()
        """The layers that are on, by name; recorded with every result."""
        self.missing: Mapping[str, str] = {}
        """The layers that are not on, each with the reason."""
        self.canaries: tuple[CanaryResult, ...] = ()
        """The attacks that the sandbox made on its own layers when it started."""
        if sys.platform != "linux" and not allow_degraded:
            raise SandboxUnavailable(
                f"model-written code can be confined on Linux only, this is {sys.platform}; "
                "use a Linux machine or container, or pass --allow-degraded if you trust the code"
            )
        self._finalizer = weakref.finalize(self, _close_all, self._processes, self._zygotes)
        try:
            self._zygote(twin=False)
        except BaseException:
            self.close()
            raise

    def open(
        self,
        source: str,
        *,
        controller: str | None = None,
        parameters: list[dict[str, Any]] | None = None,
        allowed_imports: Sequence[str] | None = None,
        instrument: bool = False,
        twin: bool = False,
    ) -> EnvironmentWorker:
        """Load a source in a worker of its own. A source that does not load gives a worker with a `failure`.

        It may import what `allowed_imports` names: the allow-list and the trusted `modules` if None.
        """
        if allowed_imports is None:
            allowed_imports = (*DEFAULT_IMPORTS, *self.modules)
        arguments: dict[str, Any] = {
            "source": source,
            "controller": controller,
            "parameters": parameters,
            "allowed_imports": list(allowed_imports),
            "instrument": instrument,
            "limits": self.limits.as_dict(),
        }
        return EnvironmentWorker(self, arguments, twin=twin)

    def near(self, work: Callable[[Sandbox], T]) -> T:
        """Do some work beside the workers: here. A sandbox whose workers are on other machines does it there."""
        return work(self)

    def close(self) -> None:
        """End every worker and zygote. Safe to call twice."""
        with self._lock:
            self._closed = True
            self._finalizer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def spawn(self, *, twin: bool = False) -> WorkerProcess:
        """Start a bare worker with nothing loaded; restart a zygote that has died, also one that dies meanwhile."""
        zygote = self._zygote(twin=twin)
        try:
            process = WorkerProcess(zygote, self.limits)
        except SandboxError as error:
            if zygote.alive:  # it said no: the system is out of processes or memory, perhaps for a moment only
                time.sleep(SPAWN_RETRY_S)
            another = self._zygote(twin=twin)
            logger.warning("%s; trying once more", error)
            process = WorkerProcess(another, self.limits)
        with self._lock:
            self._processes.add(process)
        return process

    def _zygote(self, *, twin: bool) -> Zygote:
        with self._lock:
            if self._closed:
                raise SandboxError("this sandbox is closed; open a new one")
            zygote = self._zygotes.get(twin)
            if zygote is None or not zygote.alive:
                if zygote is not None:
                    zygote.close()
                zygote = Zygote(self._seeds[twin], self._without, self._runtime, self.modules)
                self._zygotes[twin] = zygote
                self._insist(zygote)
            return zygote

    def _insist(self, zygote: Zygote) -> None:
        """Refuse a sandbox that lacks its main wall, or claims a wall that does not hold."""
        if not layer_is_on("seccomp", zygote.layers):
            reason = zygote.missing.get("seccomp", "unknown")
            if not self.allow_degraded:
                raise SandboxUnavailable(
                    f"the system call filter (seccomp) is unavailable: {reason}. Without it model-written code is not "
                    "confined; `evoenv doctor` lists what is missing, --allow-degraded runs all the same"
                )
            logger.warning("DEGRADED SANDBOX: no system call filter (%s); run only code that you trust", reason)
        results = run_canaries(zygote, self.limits)
        if zygote is self._zygotes.get(False):
            self.layers, self.missing, self.canaries = zygote.layers, zygote.missing, tuple(results)
        for result in results:
            if not result.held:
                raise SandboxUnavailable(
                    f"the sandbox layer {result.canary.layer!r} is on but does not hold: the canary "
                    f"{result.canary.attack!r} got through ({result.detail}). Report this with `evoenv doctor --json`"
                )


FRUITLESS = 3
"""Further calls, without a single score, after which the answers that did not run are given up."""


class EnvironmentWorker:
    """One environment in a process of its own. Calls are batched, and one at a time (a lock sees to that)."""

    def __init__(self, sandbox: Sandbox, arguments: dict[str, Any], *, twin: bool) -> None:
        self._sandbox = sandbox
        self._arguments = arguments
        self._twin = twin
        self._lock = threading.RLock()
        self._process: WorkerProcess | None = None
        self._closed = False
        self._earlier_cpu_s = 0.0
        self._description: dict[str, Any] = {}
        self.failure: Failed | None = None
        """Why the source does not load; None if it does."""
        self.restarts = 0
        """How many times a worker of this environment had to be replaced after a death."""
        self.failures: dict[int, Failed] = {}
        """Of the last `instances` or `score`: what went wrong, by position in the batch."""
        loaded = self._start()
        if isinstance(loaded, Failed):
            self.failure = loaded

    @property
    def description(self) -> dict[str, Any]:
        """What loading said of the environment: class, dialect, template; empty if it failed."""
        return self._description

    @property
    def layers(self) -> tuple[str, ...]:
        return self._sandbox.layers

    @property
    def cpu_s(self) -> float:
        """CPU time of every process that this environment has had; also after `close`."""
        return self._earlier_cpu_s + (0.0 if self._process is None else self._process.cpu_s)

    @property
    def memory_mb(self) -> float:
        """Memory that the live process holds beyond a bare worker's."""
        return 0.0 if self._process is None else self._process.memory_mb

    def call(
        self,
        op: str,
        items: Sequence[Any],
        args: dict[str, Any] | None = None,
        *,
        cpu_s: float | None = None,
        wall_s: float | None = None,
        total_s: float | None = None,
        total_cpu_s: float | None = None,
        stop_on_death: bool = True,
    ) -> list[Outcome]:
        """Call `op` on each item and return one outcome per item.

        Times are per item; `total_s` is wall-clock and `total_cpu_s` CPU for all of them.

        When an item ends the worker it becomes a Failed that says why. The items after it are `aborted`, or
        run in a new worker with `stop_on_death=False` (at most `Limits.deaths_per_call` times).
        """
        limits = self._sandbox.limits
        cpu_s = limits.cpu_s if cpu_s is None else cpu_s
        wall_s = limits.wall_for(cpu_s) if wall_s is None else wall_s
        deadline = None if total_s is None else time.monotonic() + total_s
        outcomes: list[Outcome | None] = [None] * len(items)
        pending = list(range(len(items)))
        budget = Budget(limits.reply_mb << 20)
        deaths, excuse = 0, ""
        with self._lock:
            cpu_before = self.cpu_s
            if self._closed:
                raise SandboxError("this worker is closed; open the source again")
            if self.failure is not None:
                excuse, pending = f"the environment does not load: {self.failure.message}", []
            while pending:
                process = self._ready_process()
                if isinstance(process, Failed):
                    excuse = f"the environment does not load any more: {process.message}"
                    break
                chosen = items if len(pending) == len(items) else [items[index] for index in pending]
                cpu_left = None if total_cpu_s is None else max(0.0, cpu_before + total_cpu_s - self.cpu_s)
                try:
                    exchange = process.call(
                        op,
                        args or {},
                        chosen,
                        expected=len(pending),
                        cpu_s=cpu_s,
                        wall_s=wall_s,
                        deadline=deadline,
                        total_cpu_s=cpu_left,
                        budget=budget,
                    )
                except RequestTooLargeError as error:
                    return [_too_large(error, limits)] * len(items)
                for index, result in zip(pending, exchange.results, strict=False):
                    outcomes[index] = outcome_of(result)
                if exchange.death is None:
                    break
                deaths += 1
                last = len(items)
                what = f"{op} of {len(items)} items"
                if exchange.death.item is not None:
                    culprit = pending[exchange.death.item]
                    last = culprit if stop_on_death else last
                    what = f"call {culprit + 1} of {len(items)} ({op})"
                    outcomes[culprit] = _failed(exchange.death, what)
                excuse = f"not run: {_failed(exchange.death, what).message}"
                # Finished results that were still on their way died with the worker: run those again.
                pending = [index for index in pending if outcomes[index] is None and index < last]
                if deaths >= limits.deaths_per_call or self._closed:
                    break
        return [Failed("aborted", excuse) if outcome is None else outcome for outcome in outcomes]

    def instances(self, seeds: Sequence[int], difficulty: int) -> list[Instance | None]:
        """Generate one instance per seed; None if generation failed (`failures` says why)."""
        outcomes = self.call("instances", [[seed, difficulty] for seed in seeds], stop_on_death=False)
        outcomes = [checked_instance(outcome) for outcome in outcomes]
        self.failures = {i: outcome for i, outcome in enumerate(outcomes) if isinstance(outcome, Failed)}
        return [
            Instance(seed, difficulty, *outcome.value[:3]) if isinstance(outcome, Ok) else None
            for seed, outcome in zip(seeds, outcomes, strict=True)
        ]

    def score(self, items: Sequence[tuple[int, int, str]]) -> list[Score]:
        """Score (seed, difficulty, answer text) items: 0 with the reason if the scorer failed.

        What did not run because others had killed the worker too often is asked again, as long as that gives scores,
        and a few times more: a right answer is not to be taken for a wrong one.
        """
        outcomes = self.call("score", items, stop_on_death=False)
        fruitless = 0
        while fruitless < FRUITLESS and not self._closed:
            waiting = [i for i, found in enumerate(outcomes) if isinstance(found, Failed) and found.kind == "aborted"]
            if not waiting:
                break
            again = self.call("score", [items[i] for i in waiting], stop_on_death=False)
            fruitless += not any(isinstance(outcome, Ok) for outcome in again)
            if all(isinstance(found, Failed) and found.kind == "aborted" for found in again):
                break  # it does not even load
            for index, outcome in zip(waiting, again, strict=True):
                outcomes[index] = outcome
        self.failures = {i: outcome for i, outcome in enumerate(outcomes) if isinstance(outcome, Failed)}
        return [score_of(outcome) for outcome in outcomes]

    def close(self) -> None:
        """End the worker. Safe to call twice, and from another thread: a call in progress ends as killed."""
        self._closed = True
        if self._process is not None:
            self._process.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ready_process(self) -> WorkerProcess | Failed:
        """Return a live worker with the source loaded."""
        process = self._process
        if process is not None and process.alive and not process.worn_out:
            return process
        if process is not None and process.alive:
            process.close()
        else:
            self.restarts += 1
        if process is not None:
            self._earlier_cpu_s += process.cpu_s
        loaded = self._start()
        if isinstance(loaded, Failed):
            return loaded
        assert self._process is not None
        return self._process

    def _start(self) -> Outcome:
        limits = self._sandbox.limits
        process = self._process = self._sandbox.spawn(twin=self._twin)
        wall_s = limits.wall_for(limits.cpu_s)
        try:
            exchange = process.call("load", self._arguments, [], expected=1, cpu_s=limits.cpu_s, wall_s=wall_s)
        except RequestTooLargeError as error:
            process.close()
            return _too_large(error, limits)
        if exchange.death is not None:
            return _failed(exchange.death, "loading the source")
        outcome = outcome_of(exchange.results[0])
        if isinstance(outcome, Ok) and type(outcome.value) is dict:
            self._description = outcome.value
            return outcome
        process.close()
        return outcome if isinstance(outcome, Failed) else Failed("protocol", "loading did not describe the source")


def _too_large(error: RequestTooLargeError, limits: Limits) -> Failed:
    return Failed("oversize", f"not sent: a request of {error.args[0]} bytes; the limit is {limits.request_mb} MiB")


def _failed(death: Death, what: str) -> Failed:
    return Failed(death.kind, f"{what} {death.reason}", death.error)


def _hash_seeds(seed: int | None) -> dict[bool, int]:
    first = DEFAULT_HASH_SEED if seed is None else seed
    if not 0 <= first <= 4294967295:
        raise SandboxError(f"hash_seed is {first}, expected 0 to 4294967295 (what PYTHONHASHSEED accepts)")
    return {False: first, True: (first + 0x5EED) % 4294967296}


def _usable_cores() -> int:
    with contextlib.suppress(AttributeError, OSError):
        return max(1, len(os.sched_getaffinity(0)))
    return max(1, os.cpu_count() or 1)


def _close_all(processes: weakref.WeakSet[WorkerProcess], zygotes: dict[bool, Zygote]) -> None:
    for process in list(processes):
        process.close()
    for zygote in zygotes.values():
        zygote.close()
