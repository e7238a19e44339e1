"""What a worker comes to when the code in it misbehaves: the right item is blamed, the others are served."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import select
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from evoenv.errors import SandboxError
from evoenv.sandbox import process
from evoenv.sandbox.host import EnvironmentWorker, Failed, Limits, Ok, Sandbox
from evoenv.sandbox.launcher import Ending
from evoenv.sandbox.outcomes import WAITED
from evoenv.sandbox.process import WorkerProcess
from tests.effort import HANG_S

HOSTILE = """
import os, re, sys
seen = []

def act(what):
    seen.append(what)
    if what == "spin": 7**10**9
    if what == "regex": re.match("(a+)+$", "a" * 64 + "b")
    if what == "exit": os._exit(0)
    if what == "quit": raise SystemExit(3)
    if what == "crash":
        import ctypes
        ctypes.string_at(0)
    if what == "socket":
        import socket
        socket.socket()
    if what == "memory":
        hoard = []
        while True: hoard.append(bytes(1 << 20))
    if what == "deep":
        deeper = lambda: deeper()
        deeper()
    if what == "big": return "x" * (5 << 20)
    if what == "object": return object()
    if what == "nan": return float("nan")
    if what == "surrogate": return "\\ud800"
    if what == "raise": raise ValueError("no")
    if what == "listen": os.read(0, 1)
    return [what, len(seen)]

def busy(ms):
    import time
    end = time.monotonic() + ms / 1000
    while time.monotonic() < end: pass
    return ms

def count(n):
    for _ in range(n): pass

def draw(_):
    import random
    return random.getrandbits(60)

def hashes(_):
    return [hash("text"), id(object()) and hash(None)]

def output(_):
    print("to nowhere"); print("also", file=sys.stderr); sys.stdout.flush()
    return sys.stdin.read()
"""


@pytest.fixture
def worker(raw: Sandbox) -> EnvironmentWorker:
    return raw.open(HOSTILE)


def kinds(outcomes: list[Ok | Failed]) -> list[str]:
    return ["ok" if isinstance(outcome, Ok) else outcome.kind for outcome in outcomes]


def test_an_environment_is_loaded_sampled_and_scored(sandbox: Sandbox, addition: str) -> None:
    with sandbox.open(addition) as worker:
        assert worker.failure is None
        assert worker.description["class"] == "Addition"
        assert worker.description["dialect"] == "functional"
        (instance,) = worker.instances([7], 0)
        assert instance is not None
        assert instance.prompt == f"What is {instance.latent['a']} + {instance.latent['b']}?"
        right, wrong = worker.score([(7, 0, str(instance.reference)), (7, 0, "-1")])
        assert (right.value, wrong.value) == (1.0, 0.0)


def test_a_source_that_does_not_load_is_a_failure_not_an_exception(sandbox: Sandbox) -> None:
    for source, word in (("def f(:", "SyntaxError"), ("import os", "not allowed"), ("x = 1 / 0", "ZeroDivisionError")):
        with sandbox.open(source) as worker:
            assert worker.failure is not None
            assert worker.failure.kind == "exception"
            assert word in worker.failure.message
            (outcome,) = worker.call("score", [[1, 0, "x"]])
            assert isinstance(outcome, Failed)
            assert outcome.kind == "aborted"
            assert worker.instances([1], 0) == [None]
            assert worker.failures[0].kind == "aborted"


def test_a_source_that_never_finishes_loading_is_killed(sandbox: Sandbox) -> None:
    with sandbox.open("while True: pass") as worker:
        assert worker.failure is not None
        assert worker.failure.kind == "timeout"
        assert re.match(r"loading the source used \d+\.\d s of CPU, limit 0.2 s; killed", worker.failure.message)


@pytest.mark.parametrize(
    ("what", "kind", "words"),
    [
        ("spin", "timeout", "s of CPU, limit 0.2 s; killed"),
        ("regex", "timeout", "of CPU, limit 0.2 s; killed"),
        ("exit", "killed", "exited with status 0"),
        ("quit", "exception", "let 'SystemExit' escape: '3'"),
        ("crash", "killed", "SIGSEGV"),
        ("socket", "killed", "forbidden system call"),
    ],
)
def test_the_item_that_ends_the_worker_is_named_with_the_reason(
    worker: EnvironmentWorker, what: str, kind: str, words: str
) -> None:
    outcomes = worker.call("act", ["a", "b", what, "c"])
    assert kinds(outcomes) == ["ok", "ok", kind, "aborted"]
    message = outcomes[2].message  # type: ignore[union-attr]
    assert message.startswith("call 3 of 4 (act) ")
    assert words in message
    assert kinds(worker.call("act", ["d"])) == ["ok"], "the next call finds a worker again"
    assert worker.restarts == 1


def test_a_worker_that_waits_for_ever_is_ended(worker: EnvironmentWorker) -> None:
    (outcome,) = worker.call("act", ["listen"], wall_s=0.3)
    assert isinstance(outcome, Failed)
    assert outcome.kind == "timeout"
    assert "s without computing, limit 0.3 s; killed" in outcome.message
    assert outcome.error == WAITED


@contextlib.contextmanager
def crowded_core() -> Iterator[int]:
    """A core on which three other programs want to run all the time; its number."""
    core = max(os.sched_getaffinity(0))
    loop = [sys.executable, "-c", f"import os\nos.sched_setaffinity(0, {{{core}}})\nwhile True: pass"]
    others = [subprocess.Popen(loop) for _ in range(3)]
    try:
        yield core
    finally:
        for other in others:
            other.kill()
            other.wait()


def test_a_worker_that_queues_for_a_core_is_not_blamed(raw: Sandbox) -> None:
    # It needs 0.15 s of CPU or so and gets a quarter of a core: more than the 0.2 s that it may wait.
    limits = Limits(cpu_s=3.0, wall_s=0.2)
    with crowded_core() as core, Sandbox(limits, runtime=raw._runtime) as patient, patient.open(HOSTILE) as worker:
        process = worker._process
        assert process is not None
        assert process.pid is not None
        os.sched_setaffinity(process.pid, {core})
        outcomes = worker.call("count", [10_000_000])
        assert kinds(outcomes) == ["ok"]
        assert process.queued_s > 0.2, "the others did not get in its way: this test shows nothing"


@pytest.mark.parametrize(
    ("what", "kind"),
    [
        ("memory", "memory"),
        ("deep", "exception"),
        ("big", "oversize"),
        ("object", "exception"),
        ("nan", "exception"),
        ("surrogate", "exception"),
        ("raise", "exception"),
    ],
)
def test_an_item_that_only_fails_leaves_the_worker_alive(worker: EnvironmentWorker, what: str, kind: str) -> None:
    outcomes = worker.call("act", ["a", what, "c"])
    assert kinds(outcomes) == ["ok", kind, "ok"]
    assert outcomes[2] == Ok(["c", 3]), "the same process answered all three"
    assert worker.restarts == 0


def test_the_other_items_can_be_run_in_a_fresh_worker(worker: EnvironmentWorker) -> None:
    outcomes = worker.call("act", ["a", "exit", "b", "spin", "c"], stop_on_death=False)
    assert kinds(outcomes) == ["ok", "killed", "ok", "timeout", "ok"]


def test_deaths_in_one_call_are_capped(worker: EnvironmentWorker) -> None:
    outcomes = worker.call("act", ["exit"] * 9, stop_on_death=False)
    assert kinds(outcomes) == ["killed"] * 4 + ["aborted"] * 5
    assert "not run: call 4 of 9 (act) ended the worker" in outcomes[-1].message  # type: ignore[union-attr]


COUNTS_UP = """
class CountsUp(VerifiableEnvironment):
    def _generate(self, seed, difficulty):
        return {"n": seed}, seed

    def _prompt_generate(self, z):
        return f"Say {z['n']}."

    def _process(self, answer):
        return int(answer)

    def scorer(self, output, z, a):
        at = 0
        while at < self._process(output):
            at += 1
        return float(at == a)
"""


def test_right_answers_are_scored_however_many_others_kill_the_scorer() -> None:
    endless, right = (5, 0, "9" * 15), (5, 0, "5")
    with Sandbox(Limits(cpu_s=0.1)) as sandbox, sandbox.open(COUNTS_UP) as worker:
        scores = [score.value for score in worker.score([endless] * 9 + [right] * 3)]
    assert scores == [0.0] * 9 + [1.0] * 3


def test_results_lost_on_the_way_are_computed_again(worker: EnvironmentWorker) -> None:
    # The first results wait in the worker's buffer when the kill comes; they must not be lost or blamed.
    outcomes = worker.call("act", [*"abcdefgh", "spin", "i"])
    assert kinds(outcomes) == ["ok"] * 8 + ["timeout", "aborted"]


def test_results_stream_so_that_slow_batches_are_not_lost(worker: EnvironmentWorker) -> None:
    outcomes = worker.call("busy", [60] * 8)
    assert outcomes == [Ok(60)] * 8


def test_each_item_has_its_own_time(worker: EnvironmentWorker) -> None:
    assert kinds(worker.call("busy", [150] * 4)) == ["ok"] * 4, "0.6 s in all, 0.2 s for each"


def test_a_whole_batch_can_have_a_deadline(worker: EnvironmentWorker) -> None:
    outcomes = worker.call("busy", [1] + [150] * 20, total_s=2.0)
    counted = kinds(outcomes)
    assert counted.count("timeout") == 1
    assert counted[0] == "ok"
    assert counted[-1] == "aborted"


def test_a_whole_batch_can_have_a_budget_of_cpu_time(worker: EnvironmentWorker) -> None:
    (outcome,) = worker.call("act", ["spin"], cpu_s=60.0, total_cpu_s=0.2)
    assert isinstance(outcome, Failed)
    assert "whole batch" in outcome.message


def test_what_ended_workers_used_counts_in_the_budget_of_the_batch(
    worker: EnvironmentWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    left: list[float] = []
    call = WorkerProcess.call

    def recorded(self: WorkerProcess, *arguments: Any, **others: Any) -> Any:
        if "total_cpu_s" in others:  # else a new worker loads the source
            left.append(others["total_cpu_s"])
        return call(self, *arguments, **others)

    monkeypatch.setattr(WorkerProcess, "call", recorded)
    worker.call("act", ["spin"] * 3, cpu_s=0.2, total_cpu_s=60.0, stop_on_death=False)
    assert left[0] == 60.0
    assert all(after <= before - 0.2 for before, after in itertools.pairwise(left))
    assert len(left) == 3


def test_an_empty_batch_costs_nothing(worker: EnvironmentWorker) -> None:
    assert worker.call("act", []) == []


def test_a_request_that_is_too_large_is_not_sent(addition: str) -> None:
    with Sandbox(Limits(request_mb=1)) as small, small.open(addition) as worker:
        (outcome,) = worker.call("score", [[1, 0, "x" * (2 << 20)]])
        assert isinstance(outcome, Failed)
        assert outcome.kind == "oversize"
        assert worker.score([(1, 0, "x")])[0].failure is None
        with small.open("#" * (2 << 20)) as huge:
            assert huge.failure is not None
            assert huge.failure.kind == "oversize"


def test_large_requests_and_replies_pass_in_both_directions(worker: EnvironmentWorker) -> None:
    texts = [str(index) * 100_000 for index in range(10)]
    outcomes = worker.call("act", texts)
    assert [outcome.value[0] for outcome in outcomes if isinstance(outcome, Ok)] == texts


def test_workers_of_one_zygote_do_not_share_random_numbers(raw: Sandbox) -> None:
    drawn = set()
    for _ in range(5):
        with raw.open(HOSTILE) as worker:
            drawn.add(worker.call("draw", [0])[0])
    assert len(drawn) == 5


def test_the_twin_hashes_differently_and_each_hashes_as_before(raw: Sandbox) -> None:
    with raw.open(HOSTILE) as one, raw.open(HOSTILE) as same, raw.open(HOSTILE, twin=True) as other:
        first, second, third = (worker.call("hashes", [0])[0] for worker in (one, same, other))
    assert isinstance(first, Ok)
    assert isinstance(second, Ok)
    assert isinstance(third, Ok)
    assert first.value[0] == second.value[0] != third.value[0]


def test_a_hash_seed_can_be_chosen(raw: Sandbox) -> None:
    with Sandbox(hash_seed=77, runtime=raw._runtime) as other, other.open(HOSTILE) as one, raw.open(HOSTILE) as two:
        assert one.call("hashes", [0]) != two.call("hashes", [0])
    with pytest.raises(SandboxError, match="0 to 4294967295"):
        Sandbox(hash_seed=-1)


def test_printing_and_reading_neither_fail_nor_leak(
    worker: EnvironmentWorker, capfd: pytest.CaptureFixture[str]
) -> None:
    assert worker.call("output", [0]) == [Ok("")]
    captured = capfd.readouterr()
    assert captured.out == captured.err == ""


def test_a_closed_worker_says_so(raw: Sandbox) -> None:
    worker = raw.open(HOSTILE)
    worker.close()
    worker.close()
    with pytest.raises(SandboxError, match="closed"):
        worker.call("act", ["a"])


def test_closing_from_another_thread_ends_a_call_in_progress(raw: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    waited = threading.Event()
    check = process._Watch.check

    def note(self: process._Watch, *, idle: bool) -> None:
        waited.set()
        check(self, idle=idle)

    worker = raw.open(HOSTILE)
    monkeypatch.setattr(process._Watch, "check", note)
    outcomes: list[Ok | Failed] = []
    # Not closed it would go on until its own limits end it, which is another kind of failure.
    caller = threading.Thread(
        target=lambda: outcomes.extend(worker.call("act", ["spin"], cpu_s=30, wall_s=HANG_S)), daemon=True
    )
    caller.start()
    assert waited.wait(HANG_S), "the worker has the request, and the host waits for the reply"
    worker.close()
    caller.join(HANG_S)
    assert not caller.is_alive()
    assert kinds(outcomes) == ["aborted"]
    assert "the worker was closed" in outcomes[0].message  # type: ignore[union-attr]


MUTTERING = (
    HOSTILE
    + """
def mutter(_):
    honest_read = os.read
    def read(descriptor, size):  # the server calls it when it waits for the next request
        os.read = honest_read
        busy(100)
        os.write(0, b"psst")
        return honest_read(descriptor, size)
    os.read = read
"""
)


def test_a_worker_that_speaks_out_of_turn_is_replaced(raw: Sandbox) -> None:
    with raw.open(MUTTERING) as worker:
        assert kinds(worker.call("mutter", [0])) == ["ok"]
        (outcome,) = worker.call("act", ["a"])  # it was stopped before it could say a word: now it gets to it
        assert isinstance(outcome, Failed)
        assert outcome.kind == "oversize"
        assert worker.call("act", ["a"]) == [Ok(["a", 1])]


def test_stray_bytes_are_noticed_where_workers_cannot_be_stopped(raw: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WorkerProcess, "_stop", lambda self: None)  # a kernel without pidfds
    with raw.open(MUTTERING) as worker:
        assert kinds(worker.call("mutter", [0])) == ["ok"]
        assert worker._process is not None
        assert select.select([worker._process._channel], [], [], HANG_S)[0], "the stray bytes have come"
        (outcome,) = worker.call("act", ["a"])
        assert isinstance(outcome, Failed)
        assert outcome.kind == "protocol"
        assert "wrote 4 bytes when no call was outstanding" in outcome.message
        assert worker.call("act", ["a"]) == [Ok(["a", 1])]


@pytest.mark.slow
def test_a_worn_out_worker_is_replaced_between_calls(raw: Sandbox) -> None:
    with Sandbox(Limits(lifetime_cpu_s=1), runtime=raw._runtime) as brief, brief.open(HOSTILE) as worker:
        assert worker.call("act", ["a"]) == [Ok(["a", 1])]
        for _ in range(100):
            assert worker.call("busy", [100]) == [Ok(100)]
            (outcome,) = worker.call("act", ["b"])
            assert isinstance(outcome, Ok)
            if outcome.value == ["b", 1]:
                break
        assert outcome.value == ["b", 1], "a new process has seen nothing"
        assert worker.restarts == 0, "nobody died"


@pytest.mark.slow
def test_a_lifetime_of_cpu_is_the_kernels_last_word(raw: Sandbox) -> None:
    with Sandbox(Limits(cpu_s=10, lifetime_cpu_s=1), runtime=raw._runtime) as brief, brief.open(HOSTILE) as worker:
        (outcome,) = worker.call("act", ["spin"])
        assert isinstance(outcome, Failed)
        assert outcome.kind == "timeout"
        assert "1 s of CPU" in outcome.message


def test_cpu_time_is_added_up_over_restarts_and_stays_after_closing(
    raw: Sandbox, worker: EnvironmentWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    endings: list[Ending | None] = []
    release = process._release

    def note(*arguments: Any) -> Ending | None:
        endings.append(release(*arguments))
        return endings[-1]

    monkeypatch.setattr(process, "_release", note)
    worker.call("busy", [50])
    first = worker.cpu_s
    worker.call("act", ["spin"])
    worker.call("act", ["a"])
    second = worker.cpu_s
    worker.close()
    assert 0 < first < second <= worker.cpu_s
    assert second - first >= raw.limits.cpu_s, "it spun for all of its time"
    assert len(endings) == 2
    assert worker.cpu_s == pytest.approx(sum(ending.cpu_s for ending in endings if ending is not None))


def test_without_pidfds_deaths_are_still_seen_and_named(raw: Sandbox) -> None:
    # Older kernels and other systems: the zygote kills for the host, and the wall clock is the only one.
    with Sandbox(Limits(wall_s=0.4), without=("pidfd",), runtime=raw._runtime) as plain, plain.open(HOSTILE) as worker:
        assert plain.missing["pidfd"] == "left off on request"
        outcomes = worker.call("act", ["a", "exit", "b", "spin", "socket"], stop_on_death=False)
        assert kinds(outcomes) == ["ok", "killed", "ok", "timeout", "killed"]
        assert "exited with status 0" in outcomes[1].message  # type: ignore[union-attr]
        assert "wall-clock" in outcomes[3].message  # type: ignore[union-attr]
        assert "SIGSYS" in outcomes[4].message  # type: ignore[union-attr]
