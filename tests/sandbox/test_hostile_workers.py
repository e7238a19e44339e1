"""Workers that misbehave beside their calls: between them, at their start, and in how they end."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evoenv.errors import SandboxError
from evoenv.sandbox import launcher
from evoenv.sandbox.host import EnvironmentWorker, Failed, Ok, Sandbox
from evoenv.sandbox.launcher import Zygote
from evoenv.sandbox.pool import Job, WorkerPool
from evoenv.sandbox.process import WorkerProcess
from tests.effort import HANG_S, becomes_true

BUSY = """
import sys
serve = sys.modules["evoenv.sandbox.guest.serve"]
honest = serve.Server._answer
hoard = []

def answer(self, request):
    honest(self, request)
    while request["op"] == "poke":
        hoard.append(bytes(1 << 16))

serve.Server._answer = answer
def poke(_): return "done"
"""


def process_of(worker: EnvironmentWorker) -> WorkerProcess:
    assert worker._process is not None
    return worker._process


def state(pid: int | None) -> str:
    """R running, S sleeping, T stopped, Z ended and not yet collected; empty where there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return ""


def state_of(worker: EnvironmentWorker) -> str:
    return state(process_of(worker).pid)


def test_an_idle_worker_stands_still(raw: Sandbox) -> None:
    with raw.open(BUSY) as worker:
        assert worker.call("poke", [1]) == [Ok("done")]
        assert becomes_true(lambda: state_of(worker) == "T")
        before, memory = worker.cpu_s, worker.memory_mb
        time.sleep(0.3)
        assert state_of(worker) == "T"
        assert worker.cpu_s == before
        assert worker.memory_mb == memory
        (outcome,) = worker.call("poke", [1])  # it goes on where it was stopped, on the time of this call
        assert isinstance(outcome, Failed)
        assert outcome.kind in ("timeout", "memory", "killed")


def test_a_stopped_worker_answers_closes_and_is_collected(sandbox: Sandbox, addition: str) -> None:
    worker = sandbox.open(addition)
    for _ in range(20):
        assert worker.score([(1, 0, "x")])[0].failure is None
    assert becomes_true(lambda: state_of(worker) == "T")
    pid = process_of(worker).pid
    worker.close()
    assert not Path(f"/proc/{pid}").exists()
    assert worker.restarts == 0


def test_workers_and_their_zygote_are_first_in_line_when_memory_runs_out(sandbox: Sandbox, addition: str) -> None:
    if "oom-first" not in sandbox.layers:
        pytest.skip(
            f"no oom-first ({sandbox.missing['oom-first']}): run where /proc may be written, not in a container"
        )
    with sandbox.open(addition) as worker:
        for pid in (process_of(worker).pid, sandbox._zygotes[False].pid):
            assert Path(f"/proc/{pid}/oom_score_adj").read_text().strip() == "1000"
    assert Path("/proc/self/oom_score_adj").read_text().strip() != "1000"


def test_idle_workers_share_a_bound_on_memory(raw: Sandbox) -> None:
    source = "hoard = []\ndef grow(mb):\n    hoard.append(bytearray(b'x' * (mb << 20)))\n    return len(hoard)\n#"
    patient = dataclasses.replace(raw.limits, cpu_s=10.0)  # fresh memory may cost much CPU time on a busy machine
    with Sandbox(patient, runtime=raw._runtime) as own, WorkerPool(own, capacity=8, memory_mb=100) as pool:
        for name in "abc":  # the third makes it too much, so the first goes
            assert pool.run([Job(source + name, "grow", [40])]) == [[Ok(1)]]
        assert pool.run([Job(source + "c", "grow", [0])]) == [[Ok(2)]]
        assert pool.run([Job(source + "a", "grow", [0])]) == [[Ok(1)]]
        assert pool._held_mb() <= 100
        with pool.worker(source + "d") as worker:
            assert worker.call("grow", [30]) == [Ok(1)]
            assert 28 < worker.memory_mb < 45


FAKED = """
import gc, os
def note():
    for thing in gc.get_objects():
        if type(thing).__name__ == "Server":
            thing._progress[1] = 0x4A325B1B4A325B1B  # ESC [2J, twice
def act(what):
    if what == "fake":
        note()
        os._exit(70)
    return what
"""


def test_a_faked_failure_to_lock_down_is_not_believed(raw: Sandbox) -> None:
    with raw.open(FAKED) as worker:
        outcomes = worker.call("act", ["a", "fake", "b"], stop_on_death=False)
        assert outcomes[0::2] == [Ok("a"), Ok("b")]
        assert outcomes[1] == Failed("killed", "call 2 of 3 (act) ended the worker: it exited with status 70")
        assert worker.restarts == 1
    worker = raw.open(FAKED + "note(); os._exit(70)")  # in the first call, before anything was answered
    assert worker.failure == Failed("killed", "loading the source ended the worker: it exited with status 70")


def test_a_worker_that_cannot_lock_itself_down_says_why_and_nobody_is_blamed(raw: Sandbox) -> None:
    # A limit that the kernel refuses: the worker gives up before it reads its first request.
    zygote = raw._zygotes[False]
    limits = dataclasses.replace(raw.limits, lifetime_cpu_s=2**80)
    process = WorkerProcess(zygote, limits)
    exchange = process.call("load", {"source": ""}, [], expected=1, cpu_s=1, wall_s=5)
    assert exchange.death is not None
    assert exchange.death.item is None
    assert exchange.death.reason.startswith("never ran: the worker could not lock itself down: ")
    assert exchange.death.reason.isprintable()
    assert not process.alive


def test_a_zygote_that_dies_during_a_spawn_is_replaced(addition: str, monkeypatch: pytest.MonkeyPatch) -> None:
    honest, victims = Zygote.spawn, []

    def struck(self: Zygote, *arguments: object, **options: object) -> object:
        if not victims:
            victims.append(self)
            os.kill(self.pid, signal.SIGKILL)
            self._process.wait(HANG_S)
        return honest(self, *arguments, **options)  # type: ignore[arg-type]

    with Sandbox() as sandbox:
        monkeypatch.setattr(Zygote, "spawn", struck)
        with sandbox.open(addition) as worker:
            assert worker.failure is None
            assert worker.score([(1, 0, "x")])[0].failure is None
        assert sandbox._zygotes[False] is not victims[0]


def test_a_refused_fork_is_tried_once_more_and_then_reported(addition: str, monkeypatch: pytest.MonkeyPatch) -> None:
    honest, refusals = Zygote.spawn, [2]

    def refuse(self: Zygote, *arguments: object, **options: object) -> object:
        if refusals[0]:
            refusals[0] -= 1
            raise SandboxError("the sandbox's zygote refused: fork failed: [Errno 11]")
        return honest(self, *arguments, **options)  # type: ignore[arg-type]

    with Sandbox() as sandbox:
        monkeypatch.setattr(Zygote, "spawn", refuse)
        with pytest.raises(SandboxError, match="fork failed"):
            sandbox.open(addition)
        refusals[0] = 1
        with sandbox.open(addition) as worker:
            assert worker.score([(1, 0, "x")])[0].failure is None


def test_a_zygote_whose_error_stream_stays_open_is_not_waited_for_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A start that fails while something else holds the error stream: reading to its end would take as long as that.
    lingering = tmp_path / "zygote.py"
    lingering.write_text(
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'], stdin=subprocess.DEVNULL)\n"
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(child.pid))\n"
        "print('last words', file=sys.stderr)\n"
    )
    monkeypatch.setattr(launcher, "ZYGOTE", lingering)
    monkeypatch.setattr(launcher, "LAST_WORDS_S", 0.3)
    try:
        with pytest.raises(SandboxError, match="did not start: last words"):
            Zygote(1)
        assert state(int((tmp_path / "pid").read_text())) not in ("", "Z"), "what holds the stream ended first"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)


def test_a_worker_without_its_shared_page_ends_alone(addition: str) -> None:
    # Mapping it fails in the fork; the zygote and the sibling must not notice.
    program = """
import os, sys
from evoenv.sandbox import launcher
from evoenv.sandbox.host import Sandbox
with Sandbox() as sandbox, sandbox.open(sys.argv[1]) as sibling:
    ask = launcher.Zygote._ask
    def bad(self, message, descriptors=()):
        if message["op"] == "spawn":
            reader, writer = os.pipe()  # a pipe cannot be mapped
            os.close(writer)
            descriptors = [descriptors[0], reader]
        return ask(self, message, descriptors)
    launcher.Zygote._ask = bad
    failed = sandbox.open(sys.argv[1])
    launcher.Zygote._ask = ask
    print(failed.failure.message)
    print(sibling.score([(1, 0, "x")])[0].failure, sibling.restarts)
"""
    source_root = str(Path(__file__).parents[2] / "src")
    done = subprocess.run(
        [sys.executable, "-c", program, addition],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": source_root},
        timeout=HANG_S,
        check=False,
    )
    assert done.stderr == ""
    message, sibling = done.stdout.splitlines()
    assert message == "loading the source never ran: the worker could not lock itself down: it did not say why"
    assert sibling == "None 0"
