"""What every stage is given: the configuration, the store and the ports of one run."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from evoenv.admission.novelty import NoveltyCache
from evoenv.config import Config
from evoenv.ports import Embedder, Policy
from evoenv.records import StepSummary
from evoenv.sandbox.host import Sandbox
from evoenv.sandbox.pool import WorkerPool
from evoenv.store.store import Stage, Store

if TYPE_CHECKING:
    from evoenv.stages.ahead import Ahead
    from evoenv.stages.conversation import Conversation


class Observer(Protocol):
    """Whoever watches a run: a terminal, a test, a dashboard. It never changes anything."""

    def stage(self, step: int, stage: Stage) -> None:
        """Hear that a stage begins."""

    def progress(self, step: int, stage: Stage, done: int, total: int) -> None: ...

    def summary(self, summary: StepSummary) -> None:
        """Hear that a step is done."""


class Unobserved:
    """The observer of a run that nobody watches."""

    def stage(self, step: int, stage: Stage) -> None:
        pass

    def progress(self, step: int, stage: Stage, done: int, total: int) -> None:
        pass

    def summary(self, summary: StepSummary) -> None:
        pass


class Observers:
    """Several observers as one."""

    def __init__(self, observers: Sequence[Observer]) -> None:
        self._observers = observers

    def stage(self, step: int, stage: Stage) -> None:
        for observer in self._observers:
            observer.stage(step, stage)

    def progress(self, step: int, stage: Stage, done: int, total: int) -> None:
        for observer in self._observers:
            observer.progress(step, stage, done, total)

    def summary(self, summary: StepSummary) -> None:
        for observer in self._observers:
            observer.summary(summary)


class RunStopped(Exception):
    """A stop was requested and the current stage is done; `--resume` continues from here."""


@dataclass(slots=True)
class Clock:
    """Where a step's time goes: all that is not the policy's is ours to keep small."""

    began: float = field(default_factory=time.perf_counter)
    sampling: float = 0.0
    updating: float = 0.0
    tokens: int = 0
    """Sampled by this process, without what a stopped one had left."""

    @property
    def tokens_per_second(self) -> float:
        return self.tokens / self.sampling if self.sampling > 0 else 0.0

    def metrics(self) -> dict[str, float]:
        step = time.perf_counter() - self.began
        policy = self.sampling + self.updating
        return {
            "time/step": step,
            "time/sampling": self.sampling,
            "time/updating": self.updating,
            "time/overhead_share": (step - policy) / step,
        }


@dataclass(slots=True)
class Run:
    """An open run. Made by `evoenv.run.prepare`."""

    config: Config
    store: Store
    policy: Policy
    sandbox: Sandbox
    workers: WorkerPool
    embedder: Embedder
    cache: NoveltyCache
    training: bool = True
    """False: a pool is synthesised, nothing is solved or learnt (`evoenv synth`)."""
    observer: Observer = field(default_factory=Unobserved)
    stop: threading.Event = field(default_factory=threading.Event)
    prototypes: list[frozenset[str]] = field(default_factory=list)
    clock: Clock = field(default_factory=Clock)
    conversation: Conversation | None = None
    """What asks the policy while the stages of a step overlap; None: each stage asks for itself."""
    ahead: Ahead | None = None
    """What asks early for later stages of the step; None if stages do not overlap."""

    @property
    def seed(self) -> int:
        return self.config.run.seed

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the workers and let go of the run directory; policy and sandbox belong to whoever made them."""
        self.workers.close()
        self.store.close()

    def begin_step(self) -> None:
        """Start the clock of a step."""
        self.clock = Clock()

    def begin(self, step: int, stage: Stage) -> None:
        """Begin a stage: here a requested stop takes effect, and watchers are told."""
        if self.stop.is_set():
            raise RunStopped(f"stopped before stage '{stage}' of step {step}")
        self.observer.stage(step, stage)
