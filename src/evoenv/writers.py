"""Mirrors of a run's metrics for other programs: TensorBoard, Weights & Biases, trackio.

The store is the truth. A writer is a copy that may lag, fail or be added later: each step is written once it is done,
what an earlier process left out (or what was done before the writer was asked for) is written when the run is opened,
and a writer that fails is dropped with a warning while the run goes on.
"""

from __future__ import annotations

import importlib
import importlib.util
import logging
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from evoenv.errors import ConfigError
from evoenv.records import StepSummary
from evoenv.stages.context import Unobserved
from evoenv.store.store import Store

logger = logging.getLogger(__name__)

PROJECT = "evoenv"
TENSORBOARD_FOLDER = "tensorboard"


class Writer(Protocol):
    """Takes one step's numbers at a time, in order."""

    def write(self, step: int, metrics: Mapping[str, float]) -> None: ...

    def close(self) -> None: ...


class TensorBoardWriter:
    """Event files below the run, by TensorBoard's own package: no deep-learning framework is needed for it."""

    def __init__(self, store: Store) -> None:
        self._events: Any = importlib.import_module("tensorboard.compat.proto.event_pb2")
        self._summaries: Any = importlib.import_module("tensorboard.compat.proto.summary_pb2")
        files: Any = importlib.import_module("tensorboard.summary.writer.event_file_writer")
        self._writer = files.EventFileWriter(str(store.directory / TENSORBOARD_FOLDER))

    def write(self, step: int, metrics: Mapping[str, float]) -> None:
        values = [self._summaries.Summary.Value(tag=name, simple_value=value) for name, value in metrics.items()]
        summary = self._summaries.Summary(value=values)
        self._writer.add_event(self._events.Event(wall_time=time.time(), step=step, summary=summary))
        self._writer.flush()

    def close(self) -> None:
        self._writer.close()


class TrackingWriter:
    """wandb, or trackio, which speaks the same words. Both read their own environment (offline mode, server, key)."""

    def __init__(self, store: Store, module: str) -> None:
        self._module: Any = importlib.import_module(module)
        directory = store.directory.resolve()
        options: dict[str, Any] = {"project": PROJECT, "config": store.meta("config")}
        if module == "wandb":
            # the same run again after a stop, told by where it is and when it was begun
            identity = f"{directory.name}-{int(store.meta('created'))}"
            options |= {"name": directory.name, "id": identity, "resume": "allow", "dir": str(directory)}
        else:
            options |= {"name": directory.name, "resume": "allow"}
        self._run: Any = self._module.init(**options)

    def write(self, step: int, metrics: Mapping[str, float]) -> None:
        self._module.log(dict(metrics), step=step)

    def close(self) -> None:
        self._module.finish()


_OPENERS: dict[str, Callable[[Store], Writer]] = {
    "tensorboard": TensorBoardWriter,
    "wandb": lambda store: TrackingWriter(store, "wandb"),
    "trackio": lambda store: TrackingWriter(store, "trackio"),
}


def check_writers(names: Iterable[str]) -> None:
    """Raise ConfigError if a writer's package is not installed; before a run begins, not after its first step."""
    for name in names:
        if importlib.util.find_spec(name) is None:
            raise ConfigError(
                f"run.writers asks for {name}, which is not installed; run `pip install {name}`, or leave it out"
            )


class MetricWriters(Unobserved):
    """Watches a run and passes each finished step on to every writer."""

    def __init__(self, names: Sequence[str], store: Store) -> None:
        check_writers(names)
        self._store = store
        self._writers: dict[str, Writer] = {}
        for name in names:
            self._guarded(name, partial(self._open, name))

    def summary(self, summary: StepSummary) -> None:
        for name in list(self._writers):
            self._guarded(name, partial(self._write, name, summary.step, summary.metrics))

    def close(self) -> None:
        for name in list(self._writers):
            self._guarded(name, self._writers[name].close)
        self._writers.clear()

    def _open(self, name: str) -> None:
        self._writers[name] = _OPENERS[name](self._store)
        for step in range(self._written(name) + 1, self._store.last_step() + 1):
            self._write(name, step, self._store.metrics(step))

    def _write(self, name: str, step: int, metrics: Mapping[str, float]) -> None:
        self._writers[name].write(step, {key: value for key, value in metrics.items() if math.isfinite(value)})
        self._store.set_meta(f"written-{name}", step)

    def _written(self, name: str) -> int:
        return int(self._store.meta(f"written-{name}") or 0)

    def _guarded(self, name: str, action: Callable[[], None]) -> None:
        try:
            action()
        except Exception as error:  # whatever another program's client raises must not end a run
            self._writers.pop(name, None)
            logger.warning(
                "the %s writer failed and is dropped, the run goes on: %s", name, error or type(error).__name__
            )
