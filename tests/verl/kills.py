"""A run of three steps on the verl engine, killed in each stage of a step and resumed each time; then a server, a rank.

    .venv-verl/bin/python tests/verl/kills.py DIRECTORY [--world 2] [--small]

Run by hand: it starts the engine nine times, which takes about ten minutes on two cores. It prints what it did, what it
found, and ends with an error if something was done twice, left out or left behind.
"""

from __future__ import annotations

import argparse
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "engines")]

import cpu_platform  # noqa: E402

cpu_platform.prepare()

import psutil  # noqa: E402
from ray_nodes import complaints, descendants, started, wait_until_gone  # noqa: E402
from test_verl_run import SMALL, command  # noqa: E402

from evoenv.store.store import Store  # noqa: E402

STEPS = 3
POLL_SECONDS = 0.02
BEGAN = time.monotonic()


def shared_memory() -> set[str]:
    """List what is in shared memory and held by no living process: others on this machine may have their own."""
    names = {path.name for path in Path("/dev/shm").iterdir()}
    for maps in Path("/proc").glob("[0-9]*/maps"):
        with suppress(OSError):  # the process has ended, or is not ours to look at
            text = maps.read_text(errors="replace")
            names -= {name for name in names if f"/dev/shm/{name}" in text}
    return names


def say(text: str) -> None:
    print(f"{time.monotonic() - BEGAN:6.1f} s  {text}", flush=True)


class Watched:
    """A run's directory, read while another process writes it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def _rows(self, sql: str) -> list[tuple[object, ...]]:
        try:
            connection = sqlite3.connect(f"{(self.directory / 'run.sqlite').as_uri()}?mode=ro", uri=True)
        except sqlite3.Error:
            return []
        try:
            return connection.execute(sql).fetchall()
        except sqlite3.Error:  # not made yet
            return []
        finally:
            connection.close()

    def done(self) -> list[tuple[int, str]]:
        """List the stages that are committed, in order."""
        return [
            (int(str(step)), str(stage)) for step, stage in self._rows("SELECT step, stage FROM stages ORDER BY rowid")
        ]

    def step(self) -> int:
        """The step that the run is in."""
        return max((number for number, name in self.done() if name == "rotated"), default=0) + 1

    def is_open(self, stage: str) -> bool:
        """Say whether a stage of this step is not committed."""
        return (self.step(), stage) not in self.done()

    def has_samples(self, purpose: str) -> bool:
        """Say whether samples for this purpose have come in this step."""
        query = "SELECT 1 FROM requests q JOIN samples s ON s.request_id = q.id WHERE q.step = "
        return bool(self._rows(f"{query}{self.step()} AND q.purpose = '{purpose}' LIMIT 1"))

    def has_reports(self) -> bool:
        """Say whether candidates of this step have been validated."""
        return bool(self._rows(f"SELECT 1 FROM reports WHERE step = {self.step()} LIMIT 1"))

    def is_updating(self) -> bool:
        return not self.is_open("solved") and self.is_open("updated") and not self.is_saving()

    def is_saving(self) -> bool:
        return any((self.directory / "checkpoints").glob(".*.part-*"))


def kill_driver(arguments: list[str], log: Path, reached: Callable[[], bool], later: float) -> tuple[bool, set[int]]:
    """Start a run, kill it some seconds after it is where it should be; return whether it was, and its processes."""
    fresh = not reached()  # what an earlier run left there does not count
    with started(arguments, log) as process:
        while not (fresh and reached()):
            fresh = fresh or not reached()
            if process.poll() is not None:
                say(f"  the run ended first, with {process.returncode}")
                return False, set()
            time.sleep(POLL_SECONDS)
        time.sleep(later)
        children = descendants(process.pid)
        process.send_signal(signal.SIGKILL)
        process.wait()
        return reached(), children


def kill_part(arguments: list[str], log: Path, title: str, reached: Callable[[], bool]) -> tuple[int, str]:
    """Start a run and kill one of its processes when it is where it should be; return exit code and complaint."""
    with started(arguments, log) as process:
        while not reached():
            assert process.poll() is None, log.read_text(errors="replace")[-3000:]
            time.sleep(POLL_SECONDS)
        children = descendants(process.pid)
        parts = [number for number in children if title in " ".join(psutil.Process(number).cmdline())]
        assert parts, [psutil.Process(number).cmdline() for number in children]
        psutil.Process(max(parts)).send_signal(signal.SIGKILL)
        killed = time.monotonic()
        code = process.wait()
        say(f"  ended with {code} after {time.monotonic() - killed:.1f} s")
        wait_until_gone(children)
    return code, "\n".join(complaints(log)[-1:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--world", type=int, default=1)
    parser.add_argument("--small", action="store_true", help="fewer candidates and responses than the preset has")
    arguments = parser.parse_args()
    base = arguments.directory.absolute()
    base.mkdir(parents=True)
    directory, log = base / "run", base / "log"
    run = Watched(directory)
    settings = (f"engine.devices_per_node={arguments.world}", *(SMALL if arguments.small else ()))
    train = command(directory, "--preset", "nano", "--steps", str(STEPS), settings=settings)
    points: list[tuple[str, float, Callable[[], bool]]] = [
        ("generation", 0.0, lambda: run.has_samples("generate") and run.is_open("generated")),
        ("validation", 0.0, lambda: run.has_reports() and run.is_open("validated")),
        ("calibration", 0.0, lambda: run.has_samples("calibrate") and run.is_open("calibrated")),
        ("solving", 0.0, lambda: run.has_samples("solve") and run.is_open("solved")),
        ("updating", 1.0, run.is_updating),
        ("checkpointing", 0.0, run.is_saving),
    ]
    missed = []
    left: set[int] = set()
    for name, later, reached in points:
        say(f"kill -9 of the driver in {name}")
        hit, children = kill_driver(train, log, reached, later)
        say(f"  {'there' if hit else 'MISSED'}; {len(run.done())} stages committed; {len(children)} processes left")
        left |= children
        if not hit:
            missed.append(name)
        train = command(directory, "--resume")
    wait_until_gone(left)
    say(f"all {len(left)} processes are gone")
    before = shared_memory()
    say("kill -9 of a rank in the update")
    # In the second step: the resumed first one has nothing but its update left, and is in it before there is a rank.
    code, words = kill_part(train, log, "EvoWorker", lambda: run.step() == 2 and run.is_updating())
    say(f"  {words}")
    assert code not in (0, 130), code
    assert "--resume" in words, words
    say("kill -9 of a server while it draws solutions")
    code, _ = kill_part(train, log, "EvoServer", lambda: run.has_samples("solve") and run.is_open("solved"))
    assert code == 0, log.read_text(errors="replace")[-3000:]
    assert "died" in log.read_text(errors="replace")
    say(f"left in shared memory since: {sorted(shared_memory() - before)}")
    check(directory, arguments.world)
    assert not missed, missed
    say("all is well")


def check(directory: Path, world: int) -> None:
    """Look at the whole run: three updates, nothing twice, admissions, a report."""
    with Store.read(directory) as store:
        assert store.last_update() == store.last_step() == STEPS
        for name in ("loss/total", "update/skipped", "logprob/gap_max"):
            say(f"{name}: {store.metric(name)}")
        assert [step for step, _ in store.metric("loss/total")] == list(range(1, STEPS + 1))
        stages = store.query("SELECT step, stage, count(*) FROM stages GROUP BY 1, 2 HAVING count(*) > 1")
        samples = store.query("SELECT request_id, idx, count(*) FROM samples GROUP BY 1, 2 HAVING count(*) > 1")
        assert not stages, stages
        assert not samples, samples
        wanted = store.query("SELECT coalesce(sum(count), 0) FROM requests")
        kept = store.query("SELECT count(*) FROM samples")
        assert wanted == kept, (wanted, kept)
        say(f"samples asked for and kept: {kept[0][0]}")
        admitted = [record.name for record in store.environments() if not record.original]
        say(f"admitted: {admitted}")
        assert admitted
        reference = store.checkpoints()[-1]
    shards = list((directory / "checkpoints" / reference).glob(f"model_world_size_{world}_rank_*.pt"))
    assert len(shards) == world, shards
    report = [sys.executable, "-m", "evoenv", "report", str(directory), "--no-png"]
    subprocess.run(report, check=True, capture_output=True)
    say(f"report: {sorted(path.name for path in (directory / 'report').iterdir())[:4]}")


if __name__ == "__main__":
    main()
