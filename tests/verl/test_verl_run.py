"""Whole runs on the verl engine, as a user starts them: admissions, kill -9, resume, Ctrl-C, two nodes."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from evoenv.store.store import Store

SMALL = ("generator.prompts=3", "solver.prompts=6", "solver.responses_per_prompt=4", "novelty.embedder=hashing")
"""Enough for real admissions by nano, and quick."""


def command(directory: Path, *arguments: str, settings: tuple[str, ...] = ()) -> list[str]:
    sets = [part for setting in settings for part in ("--set", setting)]
    return [sys.executable, "-m", "evoenv", "train", "--run", str(directory), "--plain", *sets, *arguments]


def settings_of(*more: str) -> tuple[str, ...]:
    from cpu_platform import OVERRIDES

    return (*OVERRIDES, *SMALL, *more)


@contextmanager
def started(arguments: list[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("ab") as stream:
        process = subprocess.Popen(arguments, stdout=stream, stderr=stream, start_new_session=True)
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()


def wait_for(log: Path, pattern: str, process: subprocess.Popen[bytes]) -> None:
    """Wait until the run has said something; pytest's own limit ends a wait for nothing."""
    while not re.search(pattern, log.read_text(errors="replace")):
        assert process.poll() is None, log.read_text(errors="replace")[-3000:]
        time.sleep(0.2)


def descendants(process: int) -> set[int]:
    import psutil

    return {child.pid for child in psutil.Process(process).children(recursive=True)}


def wait_until_gone(processes: set[int]) -> None:
    """Wait until all have ended; pytest's limit is the test's."""
    import psutil

    def is_alive(number: int) -> bool:
        try:
            return bool(psutil.Process(number).status() != psutil.STATUS_ZOMBIE)
        except psutil.NoSuchProcess:
            return False

    while any(map(is_alive, processes)):
        time.sleep(0.2)


def shared_memory() -> set[str]:
    return {path.name for path in Path("/dev/shm").iterdir()}


def test_a_run_that_was_killed_goes_on_with_nothing_trained_twice(tmp_path: Path) -> None:
    directory, log = tmp_path / "run", tmp_path / "log"
    begin = command(directory, "--preset", "nano", "--steps", "3", settings=settings_of())
    with started(begin, log) as process:
        wait_for(log, r"step 2/", process)
        children = descendants(process.pid)
        assert children
        process.send_signal(signal.SIGKILL)
        process.wait()
        wait_until_gone(children)
    with Store.read(directory) as store:
        done = store.last_update()
        first = store.metrics(1)
    assert done >= 1
    before = shared_memory()
    result = subprocess.run(command(directory, "--resume"), capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr[-3000:]
    with Store.read(directory) as store:
        assert store.last_update() == store.last_step() == 3
        assert store.metrics(1) == first, "what was done is not done again"
        assert [step for step, _ in store.metric("loss/total")] == [1, 2, 3]
        admitted = [record for record in store.environments() if not record.original]
        assert admitted, "nano writes environments that are admitted"
        assert [value for _, value in store.metric("update/skipped")] == [0.0, 0.0, 0.0]
        assert all(value < 1e-3 for _, value in store.metric("logprob/gap_max"))
    assert shared_memory() <= before, "nothing is left in shared memory"
    report = [sys.executable, "-m", "evoenv", "report", str(directory), "--no-png"]
    subprocess.run(report, check=True, capture_output=True)
    assert (directory / "report").is_dir()


def test_ctrl_c_twice_stops_at_once_and_leaves_no_process(tmp_path: Path) -> None:
    directory, log = tmp_path / "run", tmp_path / "log"
    begin = command(directory, "--preset", "nano", "--steps", "3", settings=settings_of())
    with started(begin, log) as process:
        wait_for(log, r"the run is in", process)
        children = descendants(process.pid)
        process.send_signal(signal.SIGINT)
        wait_for(log, r"stopping after this stage", process)
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130
        wait_until_gone(children)
    assert Store.begun(directory)


@pytest.fixture
def two_nodes(tmp_path: Path) -> Iterator[str]:
    """A Ray cluster of two "nodes" on this machine, started as docs/scale.md says."""
    ray = str(Path(sys.executable).with_name("ray"))
    address, shared = "127.0.0.1:6399", ["--block", "--disable-usage-stats", "--num-cpus=8", "--num-gpus=1"]
    head = [ray, "start", "--head", "--node-ip-address=127.0.0.1", "--port=6399", "--include-dashboard=false", *shared]
    log = tmp_path / "ray.log"
    with started(head, log) as first:
        wait_for(log, "Ray runtime started", first)
        with started([ray, "start", f"--address={address}", *shared], tmp_path / "second.log") as second:
            wait_for(tmp_path / "second.log", "Ray runtime started", second)
            processes = descendants(first.pid) | descendants(second.pid)
            yield address
            for process in (second, first):
                process.terminate()
                process.wait()
            wait_until_gone(processes)


def test_two_nodes_are_joined_and_left_standing(two_nodes: str, tmp_path: Path) -> None:
    directory = tmp_path / "run"
    settings = settings_of(f"engine.ray_address={two_nodes}", "engine.nodes=2")
    begin = command(directory, "--preset", "nano", "--steps", "1", settings=settings)
    result = subprocess.run(begin, capture_output=True, text=True, check=False, env=dict(os.environ))
    assert result.returncode == 0, result.stderr[-3000:]
    with Store.read(directory) as store:
        assert store.last_update() == 1
        assert dict(store.metric("update/skipped")) == {1: 0.0}
    checkpoint = directory / "checkpoints" / "step-00001"
    assert len(list(checkpoint.glob("model_world_size_2_rank_*.pt"))) == 2
    status = [str(Path(sys.executable).with_name("ray")), "status", f"--address={two_nodes}"]
    assert b"GPU" in subprocess.run(status, check=True, capture_output=True).stdout


def test_the_doctor_tries_the_engine_out(tmp_path: Path) -> None:
    from cpu_platform import OVERRIDES

    sets = [part for setting in OVERRIDES for part in ("--set", setting)]
    doctor = [sys.executable, "-m", "evoenv", "doctor", "--engine", "verl", "--json", *sets]
    result = subprocess.run(doctor, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-3000:]
    report = json.loads(result.stdout)
    assert [finding["name"] for finding in report["findings"]][-2:] == ["load", "close"]
    assert {"ray", "verl", "vllm"} <= set(report["versions"])
