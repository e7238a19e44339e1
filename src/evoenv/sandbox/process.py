"""One worker as the host sees it: a socket, a pidfd, a clock, and no trust."""

from __future__ import annotations

import contextlib
import mmap
import select
import signal
import socket
import struct
import threading
import time
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evoenv.errors import SandboxError
from evoenv.sandbox import protocol
from evoenv.sandbox.launcher import Ending, Spawned, Zygote
from evoenv.sandbox.outcomes import WAITED, FailureKind, Limits, printable

TICK_S = 0.02
_TICK = struct.pack("ll", 0, int(TICK_S * 1e6))
RECEIVE_BYTES = 1 << 16
INHERITED_MB = 12
"""Of a bare worker's pages, most are the zygote's until one of the two writes to them."""
EXIT_GRACE_S = 1.0
KILL_GRACE_S = 10.0
CPUCLOCK_SCHED = 2
NOT_LOCKED_DOWN = 70
"""The exit status of a worker that gave up before it served (`guest/serve.py`)."""


@dataclass(frozen=True, slots=True)
class Death:
    """Why a worker is no more, and which item of its last call was in flight (None: no item's fault)."""

    kind: FailureKind
    reason: str
    item: int | None
    error: str = ""
    """`WAITED` if the worker was killed because it neither computed nor answered."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One call: the results that arrived, and the worker's death if there was one."""

    results: list[Any]
    death: Death | None


class RequestTooLargeError(Exception):
    """Not sent: the request is `args[0]` bytes long."""


class _StopError(Exception):
    """The host ends the worker."""

    def __init__(self, kind: FailureKind, reason: str, error: str = "") -> None:
        super().__init__(reason)
        self.kind: FailureKind = kind
        self.error = error


class _HungUpError(Exception):
    """The worker's end of the socket is closed; `unread` if the kernel says that a request was left in it."""

    def __init__(self, *, unread: bool) -> None:
        super().__init__(unread)
        self.unread = unread


def _number_of(pidfd: int | None) -> int | None:
    """Return a process's number in our namespace: only the pidfd's fdinfo has it, the zygote knows another."""
    if pidfd is None:
        return None
    with contextlib.suppress(OSError, ValueError), open(f"/proc/self/fdinfo/{pidfd}", encoding="ascii") as info:
        for line in info:
            if line.startswith("Pid:") and (pid := int(line[4:])) > 0:
                return pid
    return None


def _wait_for_exit(pidfd: int | None, timeout_s: float) -> bool:
    if pidfd is None:
        return False
    poller = select.poll()
    poller.register(pidfd, select.POLLIN)
    return bool(poller.poll(timeout_s * 1000))


def _release(zygote: Zygote, spawned: Spawned, patient: bool) -> Ending | None:
    """End and reap a worker and give back every descriptor; None if the zygote went first."""
    ending = None
    if zygote.ours:
        if not patient:
            spawned.kill()
            _wait_for_exit(spawned.pidfd, KILL_GRACE_S)
        with contextlib.suppress(SandboxError):
            ending = zygote.reap(spawned.pid, patient=patient)
    spawned.close()
    return ending


def _abandon(zygote: Zygote, spawned: Spawned) -> None:
    """End a worker that nobody closed: the garbage collector may call at any moment, so do not wait."""
    if zygote.ours:
        spawned.kill()
        zygote.reap_later(spawned.pid)
    spawned.close()


class WorkerProcess:
    """A forked worker, for calls one at a time. After a death it is spent; the owner makes another."""

    def __init__(self, zygote: Zygote, limits: Limits, *, off: Sequence[str] = ()) -> None:
        spawned = zygote.spawn(limits, off=off)
        self._lock = threading.RLock()
        self._spawned = spawned
        self._limits = limits
        self._channel = spawned.channel
        self._progress = spawned.progress
        self.pid = _number_of(spawned.pidfd)
        """As this process sees it; None if the kernel does not say."""
        self._clock = None if self.pid is None else (~self.pid << 3) | CPUCLOCK_SCHED
        self._spent_s = 0.0
        self._cpu_seen_s = 0.0
        self._called = False
        self._stopped = False
        # The kernel gives up for us after a tick: one system call; poll and a non-blocking one would be two.
        for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            spawned.channel.setsockopt(socket.SOL_SOCKET, option, _TICK)
        self._zygote = zygote
        self._finalizer = weakref.finalize(self, _abandon, zygote, spawned)

    @property
    def alive(self) -> bool:
        """False also in a forked copy of the host: the channel is the original's."""
        return self._finalizer.alive and self._zygote.ours

    @property
    def worn_out(self) -> bool:
        """True if half of the lifetime's CPU is used: replace it now, not in the middle of a call."""
        return self._cpu_seen_s > self._limits.lifetime_cpu_s / 2

    @property
    def cpu_s(self) -> float:
        """CPU time used so far, or in all if it has ended."""
        with self._lock:
            return self._cpu() if self.alive else self._spent_s

    @property
    def queued_s(self) -> float:
        """Seconds that it was ready to run and had no core, since it began; 0 if the kernel does not say."""
        with contextlib.suppress(OSError, ValueError, IndexError):
            if self.pid is not None:
                with open(f"/proc/{self.pid}/schedstat", encoding="ascii") as schedstat:
                    return int(schedstat.read().split()[1]) / 1e9
        return 0.0

    @property
    def is_ready(self) -> bool:
        """Say whether it computes or queues for a core at this moment; False if the kernel does not say.

        The kernel counts a wait for a core once it is over: one that goes on is seen here and not in `queued_s`.
        """
        with contextlib.suppress(OSError, IndexError):
            if self.pid is not None:
                with open(f"/proc/{self.pid}/stat", encoding="utf-8", errors="replace") as stat:
                    return stat.read().rpartition(")")[2].split()[0] == "R"
        return False

    @property
    def memory_mb(self) -> float:
        """Memory of its own, without the files and pages that it shares with us and the zygote; 0 if unknown."""
        with self._lock, contextlib.suppress(OSError, ValueError):
            if self.alive and self.pid is not None:
                with open(f"/proc/{self.pid}/statm", encoding="ascii") as statm:
                    _, resident, shared = statm.read().split()[:3]
                return max(0.0, (int(resident) - int(shared)) * mmap.PAGESIZE / 2**20 - INHERITED_MB)
        return 0.0

    def close(self, *, patient: bool = False) -> Ending | None:
        """Kill (or wait a moment for the end), reap, forget. Safe to call twice, and while another thread calls."""
        if not patient and self._zygote.ours:
            self._spawned.kill()
        with self._lock:
            if not self._finalizer.detach():
                return None
            ending = _release(self._zygote, self._spawned, patient)
            if ending is not None:
                self._spent_s = ending.cpu_s
            return ending

    def _cpu(self) -> float:
        if self._clock is None:
            return 0.0
        with contextlib.suppress(OSError):  # it may just have died; the socket will say so
            self._cpu_seen_s = time.clock_gettime(self._clock)
        return self._cpu_seen_s

    def call(
        self,
        op: str,
        args: dict[str, Any],
        items: Sequence[Any],
        *,
        expected: int,
        cpu_s: float,
        wall_s: float,
        deadline: float | None = None,
        total_cpu_s: float | None = None,
        budget: protocol.Budget | None = None,
    ) -> Exchange:
        """Send one request and collect `expected` results; on any doubt the worker is killed."""
        budget = protocol.Budget(self._limits.reply_mb << 20) if budget is None else budget
        with self._lock:
            if not self.alive:
                return Exchange([], Death("killed", "came after the worker was closed", None))
            nonce = protocol.new_nonce()
            request = protocol.encode_request(nonce, op, args, items)
            if len(request) > self._limits.request_mb << 20:
                raise RequestTooLargeError(len(request))
            reader = protocol.ReplyReader(nonce, expected, budget)
            return self._call(request, reader, expected, _Watch(self, expected, cpu_s, wall_s, deadline, total_cpu_s))

    def _call(self, request: bytes, reader: protocol.ReplyReader, expected: int, watch: _Watch) -> Exchange:
        self._progress[0] = 0
        first, self._called = not self._called, True
        try:
            self._refuse_stray_bytes()
            self._converse(request, reader, watch)
            if reader.error is None:
                self._stop()
                return Exchange(reader.results, None)
            kind: FailureKind = "memory" if reader.error[0] == "MemoryError" else "exception"
            stop = _StopError(kind, f"let {reader.error[0]!r:.60} escape: {reader.error[1]!r:.200}")
        except protocol.OversizeError as error:
            stop = _StopError("oversize", f"was killed: {error}")
        except protocol.ProtocolError as error:
            stop = _StopError("protocol", f"was killed: {error}")
        except _StopError as error:
            stop = error
        except _HungUpError as error:
            # Candidate code runs only in a worker that has read its first request.
            ran = not (first and error.unread)
            return Exchange(reader.results, self._autopsy(self._in_flight(reader, expected), ran))
        except BaseException:
            self.close()  # an interrupted call would leave half a reply for the next one
            raise
        item = self._in_flight(reader, expected)
        self.close()
        return Exchange(reader.results, Death(stop.kind, str(stop), item, stop.error))

    def _in_flight(self, reader: protocol.ReplyReader, expected: int) -> int:
        """Return the worker's own count of finished items, as far as it can be true."""
        received = len(reader.results)
        if reader.error is not None:
            return min(received, expected - 1)
        return min(max(self._progress[0], received), expected - 1)

    def _refuse_stray_bytes(self) -> None:
        try:
            stray = self._channel.recv(RECEIVE_BYTES, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        except OSError:
            raise _HungUpError(unread=True) from None
        if not stray:
            raise _HungUpError(unread=True)
        raise protocol.ProtocolError(f"the worker wrote {len(stray)} bytes when no call was outstanding")

    def _stop(self) -> None:
        """Stop the worker between calls: it then neither computes nor takes more memory than it had."""
        self._stopped = True
        self._spawned.signal(signal.SIGSTOP)

    def _go_on(self) -> None:
        if self._stopped:
            self._stopped = False
            self._spawned.signal(signal.SIGCONT)

    def _converse(self, request: bytes, reader: protocol.ReplyReader, watch: _Watch) -> None:
        """Send all of the request, then receive all of the reply, a tick at a time.

        A worker that does not take part cannot hold us. An honest one reads the whole request before it writes.
        """
        channel, unsent = self._channel, memoryview(request)
        while not reader.done:
            try:
                if unsent:
                    unsent = unsent[channel.send(unsent) :]
                    self._go_on()  # only now: it wakes up once, with something to read
                    continue
                data = channel.recv(RECEIVE_BYTES)
            except BlockingIOError:
                self._go_on()
                watch.check(idle=True)
                continue
            except OSError:  # reset, or a broken pipe: it ended before it had read everything
                raise _HungUpError(unread=True) from None
            if not data:
                raise _HungUpError(unread=False)
            reader.feed(data)
            if not reader.done:
                watch.check(idle=False)

    def _autopsy(self, item: int, ran: bool) -> Death:
        """Say why the worker hung up by itself. What it noted counts only if no candidate code can have run in it."""
        exited = _wait_for_exit(self._spawned.pidfd, EXIT_GRACE_S)
        if self._spawned.killed:
            self.close()
            return Death("killed", "was cut short: the worker was closed", None)
        note = self._spawned.page[8:208].rstrip(b"\0").decode("ascii", "backslashreplace")
        ended = exited or self._spawned.pidfd is None  # without a pidfd the zygote finds out
        ending = self.close(patient=ended)
        if ending is None:
            return Death("killed", "was lost with the sandbox's zygote", None)
        if not ended:
            return Death("protocol", "closed its channel and went on running; killed", item)
        if ending.status == NOT_LOCKED_DOWN and not ran:
            reason = printable(note) or "it did not say why"
            return Death("killed", f"never ran: the worker could not lock itself down: {reason}", None)
        if ending.status >= 0:
            return Death("killed", f"ended the worker: it exited with status {ending.status}", item)
        name = _signal_name(-ending.status)
        if name == "SIGSYS":
            return Death("killed", "made a forbidden system call; killed by the kernel (SIGSYS)", item)
        if name == "SIGXCPU" or ending.cpu_s >= self._limits.lifetime_cpu_s:
            return Death("timeout", f"used up the worker's {self._limits.lifetime_cpu_s} s of CPU; killed", item)
        if name == "SIGKILL":
            # A worker's own memory is limited, and it cannot send signals: nothing that it ran is to blame.
            return Death(
                "memory",
                f"was killed from outside at {ending.peak_kb >> 10} MB: the machine may be short of memory",
                None,
            )
        return Death("killed", f"crashed the worker ({name})", item)


class _Watch:
    """Time kept per item by the worker's CPU clock, and of the rest only what the worker itself spent waiting.

    On a busy machine a worker stands in the queue for a core, which is not its fault. The kernel counts that time
    (`/proc/PID/schedstat`) and says while it lasts (`/proc/PID/stat`); without both, all time off the CPU counts as
    waiting.
    """

    def __init__(
        self,
        process: WorkerProcess,
        expected: int,
        cpu_s: float,
        wall_s: float,
        deadline: float | None,
        total_cpu_s: float | None,
    ) -> None:
        self._process = process
        self._last = expected - 1
        self._cpu_s, self._wall_s, self._deadline = cpu_s, wall_s, deadline
        self._item = 0
        self._cpu_start = process._cpu()
        self._cpu_end = None if total_cpu_s is None else self._cpu_start + total_cpu_s
        self._checked = time.monotonic()
        self._seen: tuple[float, float, float] | None = None
        """Time, CPU used and time queued at the first look at an item: short calls have none and do not pay for it."""

    def check(self, *, idle: bool) -> None:
        """Raise _StopError when the item in flight is over its time. Busy channels are looked at once a tick."""
        now = time.monotonic()
        if not idle and now - self._checked < TICK_S:
            return
        self._checked = now
        # Only forwards and never past the last item: a worker that fakes its count gains no time in all.
        item = max(self._item, min(self._process._progress[0], self._last))
        cpu = self._process._cpu()
        if item != self._item:
            self._item, self._cpu_start, self._seen = item, cpu, None
        if self._seen is None:
            self._seen = now, cpu, self._process.queued_s
        used = cpu - self._cpu_start
        if used > self._cpu_s:
            raise _StopError("timeout", f"used {used:.1f} s of CPU, limit {self._cpu_s:.1f} s; killed")
        if (waited := self._waited(now, cpu)) > self._wall_s:
            seen = "of wall-clock time" if self._process._clock is None else "without computing"
            raise _StopError("timeout", f"took {waited:.1f} s {seen}, limit {self._wall_s:.1f} s; killed", WAITED)
        if self._cpu_end is not None and cpu > self._cpu_end:
            raise _StopError("timeout", "was running when the CPU time for the whole batch was used up; killed")
        if self._deadline is not None and now > self._deadline:
            raise _StopError("timeout", "was running when the time for the whole batch was over; killed")

    def _waited(self, now: float, cpu: float) -> float:
        """Return the seconds that the item in flight neither computed nor queued for a core, as far as it matters."""
        assert self._seen is not None
        since, cpu_then, queued_then = self._seen
        off_cpu = now - since - (cpu - cpu_then)
        if off_cpu <= self._wall_s or self._process.is_ready:
            return 0.0
        return off_cpu - (self._process.queued_s - queued_then)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
