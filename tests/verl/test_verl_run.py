"""Whole runs on the verl engine, as a user starts them: admissions, kill -9, resume, Ctrl-C, two nodes."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from ray_nodes import RAY, complaints, descendants, started, two_nodes, wait_for, wait_until_gone

from evoenv.store.store import Store

SMALL = (
    "generator.prompts=3",
    "solver.prompts=6",
    "solver.responses_per_prompt=4",
    "novelty.embedder=hashing",
    "review.enabled=false",
)
"""Enough for real admissions by nano, whatever its preset thinks of reviews, and quick."""


EVOENV = (sys.executable, str(Path(__file__).with_name("on_cpu.py")))


def command(directory: Path, *arguments: str, settings: tuple[str, ...] = ()) -> list[str]:
    sets = [part for setting in settings for part in ("--set", setting)]
    return [*EVOENV, "train", "--run", str(directory), "--plain", *sets, *arguments]


def run_to_its_end(command: list[str], log: Path) -> tuple[int, str]:
    """Run a command; return its exit code and what it said, and check that its shared memory is gone.

    Other clusters may run on this machine meanwhile, so what it and its processes hold is noted while they live.
    """
    names: set[str] = set()
    with started(command, log) as process:
        while process.poll() is None:
            for number in [process.pid, *descendants(process.pid)]:
                with suppress(OSError):  # it has ended
                    names.update(re.findall(r"/dev/shm/(\S+)$", Path(f"/proc/{number}/maps").read_text(), re.MULTILINE))
            time.sleep(1.0)
    assert not [name for name in names if Path("/dev/shm", name).exists()], "nothing is left in shared memory"
    return process.returncode, log.read_text(errors="replace")


def test_a_run_that_was_killed_goes_on_with_nothing_trained_twice(tmp_path: Path) -> None:
    directory, log = tmp_path / "run", tmp_path / "log"
    begin = command(directory, "--preset", "nano", "--steps", "3", settings=SMALL)
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
    code, said = run_to_its_end(command(directory, "--resume"), tmp_path / "resumed")
    assert code == 0, said[-3000:]
    with Store.read(directory) as store:
        assert store.last_update() == store.last_step() == 3
        assert store.metrics(1) == first, "what was done is not done again"
        assert [step for step, _ in store.metric("loss/total")] == [1, 2, 3]
        admitted = [record for record in store.environments() if not record.original]
        assert admitted, "nano writes environments that are admitted"
        assert [value for _, value in store.metric("update/skipped")] == [0.0, 0.0, 0.0]
        assert all(value < 1e-3 for _, value in store.metric("logprob/gap_max"))
    go_on_with_two_devices(directory, tmp_path / "two")
    report = [sys.executable, "-m", "evoenv", "report", str(directory), "--no-png"]
    subprocess.run(report, check=True, capture_output=True)
    assert (directory / "report").is_dir()


def go_on_with_two_devices(directory: Path, log: Path) -> None:
    """One step more, from the weights that one device saved, and a clean end."""
    more = ("engine.devices_per_node=2", "engine.take_weights=true", "training.truncated_importance=2.0")
    refused = subprocess.run(command(directory, "--resume", settings=more), capture_output=True, text=True, check=False)
    assert refused.returncode == 2, refused.stderr[-3000:]
    assert "training.truncated_importance" in refused.stderr, "that would be another experiment"
    code, said = run_to_its_end(command(directory, "--resume", "--steps", "4", settings=more[:2]), log)
    assert code == 0, said[-3000:]
    assert "the optimiser's state is lost" in " ".join(said.split())
    with Store.read(directory) as store:
        assert [step for step, _ in store.metric("loss/total")] == [1, 2, 3, 4]
        assert dict(store.metric("update/skipped"))[4] == 0.0
    assert len(list((directory / "checkpoints" / "step-00004").glob("model_world_size_2_rank_*.pt"))) == 2


def test_two_signals_stop_at_once_and_leave_no_process(tmp_path: Path) -> None:
    directory, log = tmp_path / "run", tmp_path / "log"
    begin = command(directory, "--preset", "nano", "--steps", "3", settings=SMALL)
    with started(begin, log) as process:
        wait_for(log, r"the run is in", process)
        children = descendants(process.pid)
        process.send_signal(signal.SIGTERM)
        wait_for(log, r"stopping after this stage", process)
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130
        wait_until_gone(children)
    assert Store.begun(directory)


@pytest.mark.xdist_group("nodes")
def test_two_nodes_are_joined_judge_and_are_left_standing_and_a_lost_one_ends_the_run(tmp_path: Path) -> None:
    directory, log = tmp_path / "run", tmp_path / "log"
    with two_nodes(tmp_path) as nodes:
        settings = (*SMALL, f"engine.ray_address={nodes.address}", "engine.nodes=2", "engine.sandbox_nodes=all")
        begin = command(directory, "--preset", "nano", "--steps", "1", settings=settings)
        result = subprocess.run(begin, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr[-3000:]
        status = subprocess.run([RAY, "status", f"--address={nodes.address}"], check=True, capture_output=True)
        assert b"GPU" in status.stdout
        with started(command(directory, "--resume", "--steps", "2"), log) as process:
            wait_for(log, r"step 2/", process)
            nodes.lose_second()
            assert process.wait() not in (0, 130)
        (said,) = complaints(log)
        assert "continue with --resume" in said
    with Store.read(directory) as store:
        assert store.last_update() == 1
        assert dict(store.metric("update/skipped")) == {1: 0.0}
    checkpoint = directory / "checkpoints" / "step-00001"
    assert len(list(checkpoint.glob("model_world_size_2_rank_*.pt"))) == 2


def test_the_doctor_tries_the_engine_out(tmp_path: Path) -> None:
    result = subprocess.run([*EVOENV, "doctor", "--json"], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-3000:]
    report = json.loads(result.stdout)
    assert [finding["name"] for finding in report["findings"]][-2:] == ["load", "close"]
    assert {"ray", "verl", "vllm"} <= set(report["versions"])
    assert report["device"]["memory"] > 0
