"""Nothing is left behind: no process, no zombie, no descriptor; not even when the host is killed."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from evoenv.errors import SandboxError
from evoenv.sandbox.host import Failed, Ok, Sandbox
from evoenv.sandbox.launcher import Zygote
from tests.effort import HANG_S, becomes_true

SOURCE_ROOT = Path(__file__).parents[2] / "src"


def descriptors() -> int:
    gc.collect()
    return len(os.listdir("/proc/self/fd"))


def processes_in_group(leader: int, *, zombies: bool = True) -> set[int]:
    """List a zygote's processes: it leads a process group of its own, and its workers stay in it."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(fields[2]) == leader and (zombies or fields[0] != "Z"):
                found.add(int(entry.name))
    return found


def wait_until_gone(leader: int) -> set[int]:
    # Without the host its children are init's to reap, which may take its time over it.
    becomes_true(lambda: not processes_in_group(leader, zombies=False))
    return processes_in_group(leader, zombies=False)


def zygote_of(sandbox: Sandbox) -> Zygote:
    return sandbox._zygotes[False]


@pytest.mark.slow
def test_hundreds_of_workers_leave_no_process_and_no_descriptor(sandbox: Sandbox, addition: str) -> None:
    leader = zygote_of(sandbox).pid
    sandbox.open(addition).close()
    before, family = descriptors(), processes_in_group(leader)
    for index in range(500):
        worker = sandbox.open(addition if index % 3 else "raise SystemExit")
        if index % 5 == 0:
            worker.score([(index, 0, "1")])
        worker.close()
    assert descriptors() == before
    assert processes_in_group(leader) == family


def test_forgotten_workers_are_collected(sandbox: Sandbox, addition: str) -> None:
    leader = zygote_of(sandbox).pid
    before, family = descriptors(), processes_in_group(leader)
    for _ in range(10):
        sandbox.open(addition)
    assert descriptors() == before
    sandbox.open(addition).close()  # the next request reaps them
    assert processes_in_group(leader) == family


def test_closing_ends_every_process_and_can_be_repeated(addition: str) -> None:
    before = descriptors()
    sandbox = Sandbox()
    kept = [sandbox.open(addition), sandbox.open(addition, twin=True)]
    leaders = [zygote.pid for zygote in sandbox._zygotes.values()]
    assert len(leaders) == 2
    sandbox.close()
    sandbox.close()
    assert [wait_until_gone(leader) for leader in leaders] == [set(), set()]
    with pytest.raises(SandboxError, match="closed"):
        sandbox.open(addition)
    with pytest.raises(SandboxError, match="closed"):
        kept[0].call("score", [[1, 0, "1"]])
    kept.clear()
    assert descriptors() == before


HOST = """
    import os, signal, sys, time
    from evoenv.sandbox.host import Sandbox
    sandbox = Sandbox()
    worker = sandbox.open("x = 1")
    print(sandbox._zygotes[False].pid, flush=True)
    if sys.argv[1] == "exit": sys.exit(0)
    time.sleep(60)
"""


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, None])
def test_when_the_host_ends_all_workers_end(end: signal.Signals | None) -> None:
    host = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(HOST), "exit" if end is None else "idle"],
        stdout=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": str(SOURCE_ROOT)},
    )
    assert host.stdout is not None
    with host.stdout:
        leader = int(host.stdout.readline())
    assert end is None or processes_in_group(leader)
    if end is not None:
        host.send_signal(end)
    host.wait(HANG_S)
    assert wait_until_gone(leader) == set()


@pytest.mark.slow
def test_a_busy_worker_ends_with_its_host() -> None:
    program = """
        import sys, threading, time
        from evoenv.sandbox.host import Limits, Sandbox
        sandbox = Sandbox(Limits(cpu_s=60))
        threading.Thread(target=sandbox.open, args=("while True: pass",), daemon=True).start()
        time.sleep(0.3)
        print(sandbox._zygotes[False].pid, flush=True)
        time.sleep(60)
    """
    host = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)],
        stdout=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": str(SOURCE_ROOT)},
    )
    assert host.stdout is not None
    with host.stdout:
        leader = int(host.stdout.readline())
    assert len(processes_in_group(leader)) >= 2
    host.kill()
    host.wait(HANG_S)
    assert wait_until_gone(leader) == set()


def test_a_sandbox_opened_in_a_thread_outlives_the_thread(addition: str) -> None:
    opened: list[Sandbox] = []
    thread = threading.Thread(target=lambda: opened.append(Sandbox()))
    thread.start()
    thread.join()
    time.sleep(0.05)
    with opened[0] as sandbox, sandbox.open(addition) as worker:
        assert worker.score([(1, 0, "x")])[0].failure is None


def test_a_forked_copy_of_the_host_cannot_harm_the_original(sandbox: Sandbox, addition: str) -> None:
    worker = sandbox.open(addition)
    child = os.fork()
    if child == 0:
        status = 1
        try:  # both the old worker and a new one work there, in a zygote of the copy's own
            with sandbox.open(addition) as another:
                scores = worker.score([(1, 0, "x")]) + another.score([(1, 0, "x")])
            worker.close()
            status = int(any(score.failure for score in scores))
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert worker.score([(1, 0, "x")])[0].failure is None
    assert worker.restarts == 0
    worker.close()


def test_a_zygote_that_died_is_replaced_and_nobody_is_blamed(addition: str) -> None:
    with Sandbox() as sandbox, sandbox.open(addition) as worker:
        zygote = zygote_of(sandbox)
        os.kill(zygote.pid, signal.SIGKILL)
        zygote._process.wait(HANG_S)
        assert wait_until_gone(zygote.pid) == set(), "workers die with their zygote"
        outcomes = worker.call("score", [[1, 0, "x"], [2, 0, "x"]])
        assert outcomes == [Ok(0.0), Ok(0.0)]
        assert zygote_of(sandbox) is not zygote


def test_an_interrupted_call_does_not_leave_half_a_reply(addition: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Sandbox() as sandbox, sandbox.open(addition) as worker:
        process = worker._process
        assert process is not None

        def interrupted(*_: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(process, "_converse", interrupted)
        with pytest.raises(KeyboardInterrupt):
            worker.score([(1, 0, "x")])
        assert worker.score([(1, 0, "x")])[0].failure is None


def test_many_threads_share_one_sandbox(sandbox: Sandbox, addition: str) -> None:
    failures: list[object] = []

    def use() -> None:
        for _ in range(5):
            with sandbox.open(addition) as worker:
                outcomes = worker.call("score", [[seed, 0, "x"] for seed in range(20)])
                failures.extend(outcome for outcome in outcomes if isinstance(outcome, Failed))

    threads = [threading.Thread(target=use) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
