"""The host's end of a zygote: exec it cleanly, ask it for workers, ask it how they ended."""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import secrets
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evoenv.errors import MachineTooSlow, SandboxError
from evoenv.sandbox.outcomes import Limits

ZYGOTE = Path(__file__).parent / "guest" / "zygote.py"
NOBODY = 65534
START_TIMEOUT_S = 120.0
"""A runtime may import a lot (the graders' does), on a machine that is busy."""
REPLY_TIMEOUT_S = 30.0
LAST_WORDS_S = 2.0
ENVIRONMENT_KEPT = ("LD_LIBRARY_PATH", "PYTHONHOME")
"""What an interpreter may need to start. Nothing else of the host's environment goes in."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a worker ended: exit status (negative for a signal), CPU time and peak memory."""

    status: int
    cpu_s: float
    peak_kb: int


@dataclass(slots=True)
class Spawned:
    """What the host holds of a new worker."""

    pid: int
    """As the zygote sees it."""
    pidfd: int | None
    channel: socket.socket
    page: mmap.mmap
    progress: memoryview
    """The page as numbers; the worker counts finished items in the first."""

    killed: bool = False
    """By us: then its end needs no other explanation."""
    guard: threading.Lock = field(default_factory=threading.Lock)

    def kill(self) -> None:
        """Kill the worker; may be called at any time, from any thread."""
        self.killed = True
        self.signal(signal.SIGKILL)

    def signal(self, number: signal.Signals) -> None:
        with self.guard, contextlib.suppress(OSError):  # gone already, or not ours to signal: then the zygote does it
            if self.pidfd is not None:
                signal.pidfd_send_signal(self.pidfd, number)

    def close(self) -> None:
        self.channel.close()
        self.progress.release()
        self.page.close()
        with self.guard:
            if self.pidfd is not None:
                os.close(self.pidfd)
            self.pidfd = None


class Zygote:
    """One exec'ed interpreter that forks workers. Requests go one at a time, under a lock."""

    def __init__(
        self, hash_seed: int, without: Sequence[str] = (), runtime: Path | None = None, modules: Sequence[str] = ()
    ) -> None:
        self.hash_seed = hash_seed
        self._lock = threading.Lock()
        self._orphans: deque[int] = deque()
        self._broken = False
        self._owner = os.getpid()
        self._control, theirs = socket.socketpair()
        environment = {name: os.environ[name] for name in ENVIRONMENT_KEPT if name in os.environ}
        environment |= {"PYTHONHASHSEED": str(hash_seed), "LC_ALL": "C.UTF-8"}
        if modules:  # a process with threads can neither enter a namespace nor fork safely
            environment |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        options = {
            "without": list(without),
            "uid": NOBODY,
            "runtime": None if runtime is None else str(runtime),
            "modules": list(modules),
            "path": [entry for entry in sys.path if entry] if modules else [],
        }
        # Not -I: it would ignore PYTHONHASHSEED, and determinism checks need two hash seeds.
        flags = ["-s", "-S", "-P", "-B", "-X", "utf8", "-W", "ignore"]
        try:
            self._process = subprocess.Popen(
                [sys.executable, *flags, str(ZYGOTE), json.dumps(options)],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env=environment,
                cwd="/",
                process_group=0,  # a Ctrl-C is the host's to handle
            )
        except OSError as error:
            self._control.close()
            raise SandboxError(f"cannot start the sandbox's interpreter {sys.executable!r}: {error}") from error
        finally:
            theirs.close()
        assert self._process.stderr is not None
        with self._process.stderr as errors:
            try:
                ready, _ = self._receive(START_TIMEOUT_S)
            except SandboxError as error:
                self._process.kill()
                self._control.close()  # what it forked goes when it sees this, and holds the error stream until then
                text = _last_words(errors.fileno()).decode("utf-8", "replace").strip()
                self.close()
                last = text.splitlines()[-1] if text else str(error)
                kind = MachineTooSlow if isinstance(error, MachineTooSlow) else SandboxError
                raise kind(f"the sandbox's zygote did not start: {last}") from None
        self.layers: tuple[str, ...] = tuple(ready["layers"])
        self.missing: dict[str, str] = ready["missing"]

    @property
    def pid(self) -> int:
        """The number of the exec'ed process; with a PID namespace that is the keeper."""
        pid: int = self._process.pid
        return pid

    @property
    def ours(self) -> bool:
        """False in a forked copy of the host, which must leave the original's processes alone."""
        return self._owner == os.getpid()

    @property
    def alive(self) -> bool:
        """False from the first failed exchange on, even if the process takes its time over dying."""
        return self.ours and not self._broken and self._process.poll() is None

    def spawn(self, limits: Limits, *, off: Sequence[str] = ()) -> Spawned:
        """Fork a worker; its first call may be sent at once. `off`: layers that a canary wants out of its way."""
        ours, theirs = socket.socketpair()
        try:
            with theirs, _shared_page() as page_file:
                page = mmap.mmap(page_file, mmap.PAGESIZE)
                reply, descriptors = self._ask(
                    {
                        "op": "spawn",
                        "seed": secrets.token_hex(16),
                        "memory_bytes": limits.memory_mb << 20,
                        "cpu_seconds": limits.lifetime_cpu_s,
                        "reply_bytes": limits.reply_mb << 20,
                        "off": list(off),
                    },
                    [theirs.fileno(), page_file],
                )
        except BaseException:
            ours.close()
            raise
        return Spawned(reply["pid"], descriptors[0] if descriptors else None, ours, page, memoryview(page).cast("Q"))

    def reap_later(self, pid: int) -> None:
        """Reap a process before the next request. For finalisers: they may run in the middle of one."""
        self._orphans.append(pid)

    def reap(self, pid: int, *, patient: bool = False) -> Ending:
        """End a worker for good and say how it went; be patient with one that is about to end by itself."""
        reply, _ = self._ask({"op": "reap", "pid": pid, "patient": patient})
        return Ending(reply["status"], reply["cpu_s"], reply["peak_kb"])

    def _ask(self, message: dict[str, Any], descriptors: Sequence[int] = ()) -> tuple[dict[str, Any], list[int]]:
        if not self.ours:
            raise SandboxError("this worker belongs to the process that this one was forked from; open another")
        with self._lock:
            while self._orphans:
                self._exchange({"op": "reap", "pid": self._orphans.popleft(), "patient": False}, ())
            reply, received = self._exchange(message, descriptors)
        if "error" in reply:
            raise SandboxError(f"the sandbox's zygote refused: {reply['error']}")
        return reply, received

    def _exchange(self, message: dict[str, Any], descriptors: Sequence[int]) -> tuple[dict[str, Any], list[int]]:
        try:
            socket.send_fds(self._control, [json.dumps(message).encode() + b"\n"], list(descriptors))
            return self._receive(REPLY_TIMEOUT_S)
        except OSError as error:
            self._broken = True
            raise SandboxError(f"the sandbox's zygote is gone: {error}") from error
        except SandboxError:
            self._broken = True
            self._process.kill()  # an answer that comes too late would be taken for the next one's
            raise

    def _receive(self, timeout_s: float) -> tuple[dict[str, Any], list[int]]:
        deadline = time.monotonic() + timeout_s
        data, descriptors = b"", []
        poller = select.poll()  # not select(): a trainer may hold more than 1024 descriptors
        poller.register(self._control, select.POLLIN)
        while not data.endswith(b"\n"):
            if not poller.poll(max(0.0, deadline - time.monotonic()) * 1000):
                raise MachineTooSlow(
                    f"the sandbox's zygote did not answer in {timeout_s:.0f} s; try again when fewer programs run"
                )
            try:
                part, fresh, _, _ = socket.recv_fds(self._control, 1 << 16, 2)
            except OSError as error:
                raise SandboxError(f"the sandbox's zygote is gone: {error}") from error
            if not part:
                raise SandboxError("the sandbox's zygote is gone")
            data += part
            descriptors += fresh
        reply: dict[str, Any] = json.loads(data)
        return reply, descriptors

    def close(self) -> None:
        """Hang up; the zygote and all its workers go. Safe to call twice, and in a forked copy of the host."""
        self._control.close()
        if not self.ours:
            return
        try:
            self._process.wait(timeout=2.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=10.0)


def _last_words(stream: int) -> bytes:
    """Read what a dying zygote says, as far as it comes soon: a process that lives on may hold the stream open."""
    deadline = time.monotonic() + LAST_WORDS_S
    poller = select.poll()
    poller.register(stream, select.POLLIN)
    text = b""
    while len(text) < 1 << 16 and poller.poll(max(0.0, deadline - time.monotonic()) * 1000):
        part = os.read(stream, 1 << 12)
        if not part:
            break
        text += part
    return text


@contextlib.contextmanager
def _shared_page() -> Iterator[int]:
    """Yield the descriptor of one page that can be mapped on both sides."""
    if hasattr(os, "memfd_create"):
        page = os.memfd_create("evoenv-progress", os.MFD_CLOEXEC)
    else:
        page, path = tempfile.mkstemp()
        os.unlink(path)
    try:
        os.ftruncate(page, mmap.PAGESIZE)
        yield page
    finally:
        os.close(page)
