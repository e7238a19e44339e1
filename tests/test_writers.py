"""Mirrors of a run's metrics: what was written is read back with the other program's own reader."""

from __future__ import annotations

import logging
import math
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from evoenv.errors import ConfigError
from evoenv.records import StepSummary
from evoenv.store.store import Store
from evoenv.writers import MetricWriters, check_writers

FIRST = {"solver/score": 0.25, "generator/reward": -1.0}
SECOND = {"solver/score": 0.5, "generator/reward": 0.125, "loss/kl": math.nan}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.create(tmp_path / "run", {"run": {"steps": 2}}, {})


def finish(store: Store, step: int, metrics: dict[str, float]) -> StepSummary:
    with store.stage(step, "rotated"):
        store.add_metrics(step, metrics)
    return StepSummary(step, metrics)


def scalars(directory: Path) -> dict[str, list[tuple[int, float]]]:
    pytest.importorskip("tensorboard", reason="tensorboard is not installed: pip install 'evoenv[tensorboard]'")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    reader = EventAccumulator(str(directory / "tensorboard"))
    reader.Reload()
    return {tag: [(one.step, one.value) for one in reader.Scalars(tag)] for tag in reader.Tags()["scalars"]}


def test_tensorboard_reads_every_step_once_even_after_a_stop(store: Store) -> None:
    pytest.importorskip("tensorboard", reason="tensorboard is not installed: pip install 'evoenv[tensorboard]'")
    writers = MetricWriters(["tensorboard"], store)
    writers.summary(finish(store, 1, FIRST))
    assert scalars(store.directory) == {
        "solver/score": [(1, 0.25)],
        "generator/reward": [(1, -1.0)],
    }  # while it is open
    # killed after a step was committed and before it was written: the next process writes it
    finish(store, 2, SECOND)
    writers.close()
    MetricWriters(["tensorboard"], store).close()
    MetricWriters(["tensorboard"], store).close()
    assert scalars(store.directory) == {
        "solver/score": [(1, 0.25), (2, 0.5)],
        "generator/reward": [(1, -1.0), (2, 0.125)],
    }
    store.close()


def wandb_records(path: Path) -> Iterator[bytes]:
    """Read the log format that wandb shares with LevelDB: blocks of 32 KiB, parts with checksum, length and kind."""
    data, block, part = path.read_bytes(), 32768, b""
    at = 7
    while at + 7 <= len(data):
        if block - at % block < 7:
            at += block - at % block
            continue
        _, length, kind = struct.unpack_from("<IHB", data, at)
        part = data[at + 7 : at + 7 + length] if kind in (1, 2) else part + data[at + 7 : at + 7 + length]
        if kind in (1, 4):  # whole, or the last part
            yield part
        at += 7 + length


@pytest.mark.slow
def test_wandb_keeps_the_steps_offline(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("wandb", reason="wandb is not installed: pip install wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    finish(store, 1, FIRST)
    writers = MetricWriters(["wandb"], store)
    writers.summary(finish(store, 2, SECOND))
    writers.close()
    store.close()
    assert caplog.records == []
    from wandb.proto import wandb_internal_pb2

    (path,) = store.directory.glob("wandb/offline-run-*/*.wandb")
    history: dict[str, list[float]] = {}
    for data in wandb_records(path):
        record = wandb_internal_pb2.Record()
        record.ParseFromString(data)
        for item in record.history.item:
            name = item.key or "/".join(item.nested_key)
            history.setdefault(name, []).append(float(item.value_json))
    assert history["solver/score"] == [0.25, 0.5]
    assert history["_step"] == [1, 2]


@pytest.mark.slow
def test_trackio_keeps_the_steps_in_its_own_database(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "trackio"))
    pytest.importorskip("trackio", reason="trackio is not installed: pip install trackio")
    from trackio.sqlite_storage import SQLiteStorage

    finish(store, 1, FIRST)
    writers = MetricWriters(["trackio"], store)
    writers.summary(finish(store, 2, SECOND))
    writers.close()
    assert [record for record in caplog.records if record.name.startswith("evoenv")] == []
    logs = SQLiteStorage.get_logs("evoenv", store.directory.name)
    store.close()
    assert [(entry["step"], entry["solver/score"]) for entry in logs if "solver/score" in entry] == [
        (1, 0.25),
        (2, 0.5),
    ]


def test_a_writer_that_fails_is_dropped_and_the_run_goes_on(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Failing:
        def write(self, step: int, metrics: dict[str, float]) -> None:
            raise ConnectionError("the server is gone")

        def close(self) -> None:
            raise AssertionError("a dropped writer is not touched again")

    monkeypatch.setattr("evoenv.writers.check_writers", lambda names: None)
    monkeypatch.setitem(__import__("evoenv.writers").writers._OPENERS, "wandb", lambda store: Failing())
    with caplog.at_level(logging.WARNING, logger="evoenv"):
        writers = MetricWriters(["wandb"], store)
        writers.summary(finish(store, 1, FIRST))
        writers.summary(finish(store, 2, SECOND))
        writers.close()
    assert [record.message for record in caplog.records] == [
        "the wandb writer failed and is dropped, the run goes on: the server is gone"
    ]
    store.close()


def test_a_missing_package_is_named_with_the_way_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "trackio" else object())
    check_writers(["tensorboard"])
    with pytest.raises(ConfigError, match=r"run\.writers asks for trackio.*pip install trackio"):
        check_writers(["tensorboard", "trackio"])
