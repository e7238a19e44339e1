"""Sandboxes on the CPUs of all nodes of a Ray cluster, behind the front door of the local one (`engine.sandbox_nodes`).

    driver: RaySandbox ──► one SandboxNode (a Ray actor) on each node ──► that node's own Sandbox, with all its walls

Every node's sandbox attacks its own walls before it is used; a node that cannot confine code is refused by its name.
A worker lives on one node and is called there in batches; `near` does a whole piece of work (a validation) beside the
workers. If a node is lost, its work is done again on another one: environments give the same for the same seeds.
"""

from __future__ import annotations

import itertools
import logging
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeVar

import ray
from ray.exceptions import RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from evoenv import __version__
from evoenv.config import Config
from evoenv.engines.verl.joining import free_cores, join_ray
from evoenv.engines.verl.limits import last_line
from evoenv.errors import SandboxError, SandboxUnavailable
from evoenv.sandbox.host import EnvironmentWorker, Sandbox
from evoenv.sandbox.outcomes import Failed, Ok, Outcome
from evoenv.sandbox.process import WorkerProcess

log = logging.getLogger(__name__)
T = TypeVar("T")

SPARE_THREADS = 4
"""Of a node's actor, beyond one for each worker: for opening and closing."""
END_SECONDS = 10.0
"""For the nodes to end their workers; then they are killed."""


# --------------------------------------------------------------------------- on a node


@dataclass(frozen=True, slots=True)
class NodeReport:
    """What `evoenv doctor` would say of a node's sandbox."""

    host: str
    version: str
    """Of EvoEnv there."""
    layers: tuple[str, ...] = ()
    missing: Mapping[str, str] | None = None
    refusal: str = ""
    """Why code cannot be confined there; empty if it can."""


@dataclass(frozen=True, slots=True)
class Called:
    """What a call on a node's worker came to, and how its worker stands afterwards."""

    outcomes: tuple[Outcome, ...]
    cpu_s: float
    memory_mb: float
    restarts: int
    description: dict[str, Any]


class SandboxNode:
    """A node's own sandbox and its workers by number. Runs there as an actor with many threads."""

    def __init__(self, open_sandbox: Callable[[], Sandbox]) -> None:
        self._open = open_sandbox
        self._sandbox: Sandbox | None = None
        self._workers: dict[int, EnvironmentWorker] = {}
        self._numbers = itertools.count()

    def check(self) -> NodeReport:
        """Raise the walls and attack them."""
        host = socket.gethostname()
        try:
            self._sandbox = self._open()
        except SandboxError as error:
            return NodeReport(host, __version__, refusal=str(error))
        return NodeReport(host, __version__, self._sandbox.layers, dict(self._sandbox.missing))

    @property
    def sandbox(self) -> Sandbox:
        assert self._sandbox is not None, "checked first"
        return self._sandbox

    def open(self, options: Mapping[str, Any]) -> tuple[int, Failed | None, Called]:
        """Load a source; return its worker's number, why it does not load, and how the worker stands."""
        worker, number = self.sandbox.open(**options), next(self._numbers)
        self._workers[number] = worker
        return number, worker.failure, _called(worker, ())

    def call(self, number: int, op: str, items: Sequence[Any], options: Mapping[str, Any]) -> Called:
        worker = self._workers[number]
        return _called(worker, worker.call(op, items, **options))

    def close_worker(self, number: int) -> float:
        """End a worker and return its CPU time."""
        worker = self._workers.pop(number)
        worker.close()
        return worker.cpu_s

    def near(self, work: Callable[[Sandbox], T]) -> T:
        return work(self.sandbox)

    def end(self) -> None:
        if self._sandbox is not None:
            self._sandbox.close()


def _called(worker: EnvironmentWorker, outcomes: Sequence[Outcome]) -> Called:
    return Called(tuple(outcomes), worker.cpu_s, worker.memory_mb, worker.restarts, worker.description)


# --------------------------------------------------------------------------- on the driver


class NodeLost(SandboxError):
    """A node died or fell silent while it was asked something."""


class Node:
    """The driver's end of a SandboxNode."""

    def __init__(self, address: str, workers: int, actor: Any, patience: float) -> None:
        self.address = address
        self.workers = workers
        self.actor = actor
        self.busy = 0
        """Pieces of work that are being done there."""
        self.lost = False
        self._patience = patience

    def ask(self, method: str, *arguments: Any) -> Any:
        """Call a method there and wait for its result. Raises what it raised, or NodeLost."""
        try:
            return ray.get(getattr(self.actor, method).remote(*arguments), timeout=self._patience)
        except RayTaskError as error:
            raise error.cause from error  # as if it had been raised here
        except RayError as error:  # an actor that died, silence, or a result that went with its node
            self.lost = True
            raise NodeLost(f"the sandbox of node {self.address} is lost: {last_line(error, 200)}") from error


class RaySandbox(Sandbox):
    """Offers what `Sandbox` offers, with its workers on all nodes. Thread-safe."""

    def __init__(self, config: Config, open_sandbox: Callable[[], Sandbox], *, allow_degraded: bool = False) -> None:
        """Join the cluster and check every node; `open_sandbox` is called on each."""
        self._joined = join_ray(config)
        self._lock = threading.RLock()
        self._closed = False
        self._nodes: list[Node] = []
        try:
            self._start(config, open_sandbox)
        except BaseException:
            self.close()
            raise
        self.allow_degraded = allow_degraded
        self.workers = sum(node.workers for node in self._nodes)

    def _start(self, config: Config, open_sandbox: Callable[[], Sandbox]) -> None:
        for node in ray.nodes():
            if not node["Alive"] or not node["Resources"].get("CPU"):
                continue
            cores = free_cores(node)
            workers = max(1, cores)
            actor = (
                ray.remote(SandboxNode)
                .options(
                    num_cpus=cores,
                    max_concurrency=workers + SPARE_THREADS,
                    scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False),
                )
                .remote(open_sandbox)
            )
            self._nodes.append(Node(node["NodeManagerAddress"], workers, actor, config.engine.patience_seconds))
        reports = [self._check(node) for node in self._nodes]
        # What is recorded with every result: the walls that stand on all nodes.
        self.layers = tuple(layer for layer in reports[0].layers if all(layer in report.layers for report in reports))
        self.missing = {name: why for report in reports for name, why in (report.missing or {}).items()}

    @staticmethod
    def _check(node: Node) -> NodeReport:
        """Let a node check its walls; refuse it by its name if they do not hold."""
        report: NodeReport = node.ask("check")
        name = f"{report.host} ({node.address})"
        if report.refusal:
            raise SandboxUnavailable(
                f"node {name} cannot confine model-written code: {report.refusal}. Run `evoenv doctor` there, take the "
                "node out of the Ray cluster, or judge on the driver alone: --set engine.sandbox_nodes=driver"
            )
        if report.version != __version__:
            raise SandboxUnavailable(
                f"node {name} has EvoEnv {report.version}, the driver {__version__}; install the same on all nodes"
            )
        for layer, reason in (report.missing or {}).items():
            log.warning("sandbox of node %s: no %s (%s)", name, layer, reason)
        log.info("node %s judges with %d workers", name, node.workers)
        return report

    def open(self, source: str, **options: Any) -> EnvironmentWorker:
        """Load a source in a worker of its own, on the node that has least to do."""
        return RemoteWorker(self, {"source": source, **options}, twin=bool(options.get("twin", False)))

    def near(self, work: Callable[[Sandbox], T]) -> T:
        """Do some work on the node that has least to do; again on another one if that one is lost."""
        while True:
            try:
                with self.borrowed() as node:
                    result: T = node.ask("near", work)
                    return result
            except NodeLost as error:
                self.tell_of(error)

    def choose(self) -> Node:
        """Return the node that has least to do for its size."""
        with self._lock:
            if self._closed:
                raise SandboxError("this sandbox is closed; open a new one")
            nodes = [node for node in self._nodes if not node.lost]
            if not nodes:
                raise SandboxError("no node with a sandbox is left; look at `ray status`, then continue with --resume")
            return min(nodes, key=lambda node: node.busy / node.workers)

    @contextmanager
    def borrowed(self, node: Node | None = None) -> Iterator[Node]:
        """Count a piece of work as done on a node, or on the one that has least to do."""
        with self._lock:
            chosen = node or self.choose()
            chosen.busy += 1
        try:
            yield chosen
        finally:
            with self._lock:
                chosen.busy -= 1

    def tell_of(self, error: NodeLost) -> None:
        """Tell of a lost node: whoever asked it asks another one. Raises if this sandbox was closed meanwhile."""
        with self._lock:
            if self._closed:
                raise error
        log.warning("%s; its work is done again on another node", error)

    def spawn(self, *, twin: bool = False) -> WorkerProcess:
        raise SandboxError("the workers of this sandbox are processes of other nodes; open a source instead")

    def close(self) -> None:
        """End every worker on every node. Safe to call twice."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        ends = []
        for node in self._nodes:
            with suppress(Exception):  # a dead actor, or Ray itself is gone
                ends.append(node.actor.end.remote())
        with suppress(Exception):
            ray.wait(ends, num_returns=len(ends), timeout=END_SECONDS)
        for node in self._nodes:
            with suppress(Exception):
                ray.kill(node.actor)
        if self._joined:
            ray.shutdown()


class RemoteWorker(EnvironmentWorker):
    """One environment on some node. Moves to another one if that is lost."""

    _sandbox: RaySandbox

    def __init__(self, sandbox: RaySandbox, arguments: dict[str, Any], *, twin: bool) -> None:
        self._node: Node | None = None
        self._number = 0
        self._state = Called((), 0.0, 0.0, 0, {})
        super().__init__(sandbox, arguments, twin=twin)

    def _start(self) -> Outcome:
        while True:
            try:
                with self._sandbox.borrowed() as node:
                    self._number, failure, self._state = node.ask("open", self._arguments)
                    self._node = node
                    self._description = self._state.description
                    return Ok(None) if failure is None else failure
            except NodeLost as error:
                self._sandbox.tell_of(error)

    @property
    def cpu_s(self) -> float:
        return self._earlier_cpu_s + self._state.cpu_s

    @property
    def memory_mb(self) -> float:
        return self._state.memory_mb

    def call(self, op: str, items: Sequence[Any], args: dict[str, Any] | None = None, **options: Any) -> list[Outcome]:
        with self._lock:
            if self._closed:
                raise SandboxError("this worker is closed; open the source again")
            while True:
                assert self._node is not None, "started"
                try:
                    with self._sandbox.borrowed(self._node) as node:
                        self._state = node.ask("call", self._number, op, items, {"args": args, **options})
                        self.restarts = self._state.restarts
                        return list(self._state.outcomes)
                except NodeLost as error:
                    self._sandbox.tell_of(error)
                    self._earlier_cpu_s += self._state.cpu_s
                    self._start()

    def close(self) -> None:
        """End the worker. Safe to call twice."""
        if self._closed:
            return
        self._closed = True
        if self._node is not None and not self._node.lost:
            with suppress(SandboxError):  # its node is gone, and the worker with it
                cpu_s = self._node.ask("close_worker", self._number)
                self._state = Called((), cpu_s, 0.0, self._state.restarts, self._state.description)
