"""The process that workers are forked from. Run by path: `python -s -S -P -B zygote.py OPTIONS`.

A clean exec with almost no environment, the allowed modules loaded, privileges and the outside world given
up; then it forks a worker for each request on descriptor 0 and reports how workers ended. It never runs
a line of candidate code. With a PID namespace the process that was exec'ed stays outside as the keeper
of the one that serves, which is PID 1 inside: nothing in there can signal it, and all die with it.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import random
import select
import signal
import socket
import sys
import time
import types
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evoenv.sandbox.guest.isolation import Isolation

GUEST_PACKAGE = "evoenv.sandbox.guest"
PATIENCE_S = 0.1
PRELOADED = (
    "random",
    "math",
    "cmath",
    "collections",
    "collections.abc",
    "itertools",
    "heapq",
    "bisect",
    "functools",
    "re",
    "typing",
    "types",
    "abc",
    "array",
    "ast",
    "codecs",
    "contextlib",
    "copy",
    "copyreg",
    "dataclasses",
    "decimal",
    "enum",
    "fractions",
    "inspect",
    "io",
    "json",
    "keyword",
    "linecache",
    "marshal",
    "mmap",
    "numbers",
    "operator",
    "queue",
    "reprlib",
    "statistics",
    "string",
    "struct",
    "textwrap",
    "time",
    "traceback",
    "unicodedata",
    "warnings",
    "weakref",
    "encodings.ascii",
    "encodings.latin_1",
    "encodings.utf_8",
    "encodings.utf_16",
    "encodings.utf_32",
    "encodings.idna",
    "encodings.raw_unicode_escape",
    "encodings.unicode_escape",
)
"""The allow-list of environments, what it imports lazily, and what the runtime needs: after the lock-down
there is no file system to import from."""

PRELOADED_WHERE_PRESENT = ("_sha2", "_suggestions", "tokenize", "tracemalloc")
"""Imported on first use by the above, in some versions of Python."""


def register_guest_package(directory: str) -> None:
    """Make `evoenv.sandbox.guest` importable from its files alone, without the rest of EvoEnv."""
    for name, path in (("evoenv", []), ("evoenv.sandbox", []), (GUEST_PACKAGE, [directory])):
        package = types.ModuleType(name)
        package.__path__ = path
        sys.modules[name] = package


def preload(trusted: list[str], path: list[str]) -> None:
    """Import all that workers will need, before the walls go up.

    `trusted` are modules that the user allows by name; they are looked for on the host's own `path`.
    """
    sys.path += path
    for name in PRELOADED:
        importlib.import_module(name)
    if trusted:
        importlib.import_module(f"{GUEST_PACKAGE}.trusted").import_trusted(trusted)
    for name in PRELOADED_WHERE_PRESENT:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    for name in ("lockdown", "seccomp", "isolation", "canary", "serve"):
        importlib.import_module(f"{GUEST_PACKAGE}.{name}")


def load_runtime(path: str | None) -> Any:
    """Load the runtime beside this file, or another one by path (tests of the sandbox itself)."""
    if path is None:
        return importlib.import_module(GUEST_PACKAGE + ".runtime")
    module = types.ModuleType("other_runtime")
    exec(compile(Path(path).read_text(encoding="utf-8"), path, "exec"), module.__dict__)
    return module


WARM_UP_SOURCE = """
import random
class Sample(VerifiableEnvironment):
    prompt_template = "What is {a} + {b}?"
    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        z = {"a": rng.randint(0, 9), "b": rng.choice([1, 2])}
        return z, z["a"] + z["b"]
    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)
    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None
    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
"""


def warm_up(runtime: Any) -> None:
    """Run a sample of our own through the runtime: what is built on first use is built once, before the forks."""
    handler = runtime.Runtime()
    load = {"source": WARM_UP_SOURCE, "allowed_imports": ["random"]}
    for op, args, items in (("load", load, []), ("instances", {}, [[1, 0]]), ("score", {}, [[1, 0, "3"]])):
        json.loads(json.dumps(list(handler.handle(op, args, items))))
    "é".encode("utf-16").decode("utf-16")
    random.Random(b"text seeds are hashed")


class Zygote:
    """Fork on request, reap on request, go when the host goes."""

    def __init__(self, control: socket.socket, runtime: Any, isolation: Isolation, base_bytes: int) -> None:
        self._control = control
        self._runtime = runtime
        self._isolation = isolation
        self._base_bytes = base_bytes
        self._children: set[int] = set()

    def run(self, host: int | None) -> None:
        """Serve until the host hangs up or dies (its other threads may have forked copies of our socket)."""
        poller = select.poll()
        poller.register(self._control, select.POLLIN)
        if host is not None:
            poller.register(host, select.POLLIN)
        try:
            while all(descriptor != host for descriptor, _ in poller.poll()):
                data, descriptors, _, _ = socket.recv_fds(self._control, 1 << 16, 2)
                while data and not data.endswith(b"\n"):
                    data += self._control.recv(1 << 16)
                if not data:
                    return
                request = json.loads(data)
                if request["op"] == "spawn":
                    self._spawn(request, descriptors)
                else:
                    self._reply(self._reap(request["pid"], request["patient"]))
        finally:
            for child in self._children:
                os.kill(child, signal.SIGKILL)

    def _reply(self, message: dict[str, Any], descriptors: list[int] | None = None) -> None:
        data = json.dumps(message).encode() + b"\n"
        socket.send_fds(self._control, [data], descriptors or [])

    def _spawn(self, request: dict[str, Any], descriptors: list[int]) -> None:
        from evoenv.sandbox.guest import serve

        isolation, parent = self._isolation, os.getpid()
        settings = {
            **request,
            "parent_death": isolation.parent_death,
            "rlimits": "rlimits" in isolation.layers,
        }
        try:
            child = os.fork()
        except OSError as error:
            for descriptor in descriptors:
                os.close(descriptor)
            self._reply({"error": f"fork failed: {error}"})
            return
        if child == 0:
            try:
                serve.become_worker(
                    self._runtime.Runtime,
                    settings,
                    channel=descriptors[0],
                    page=descriptors[1],
                    parent=parent,
                    ruleset=isolation.ruleset,
                    program=isolation.program,
                    base_bytes=self._base_bytes,
                )
            finally:
                os._exit(serve.NOT_LOCKED_DOWN)  # whatever happens, a child must not go on as a second zygote
        self._children.add(child)
        for descriptor in descriptors:
            os.close(descriptor)
        pidfd = os.pidfd_open(child) if self._isolation.pidfd else None
        self._reply({"pid": child}, [] if pidfd is None else [pidfd])
        if pidfd is not None:
            os.close(pidfd)

    def _reap(self, child: int, patient: bool) -> dict[str, Any]:
        """End a worker, if it has not ended, and say how it went. Patience is for one that is about to end."""
        if child not in self._children:
            return {"error": f"no worker {child}"}
        deadline = time.monotonic() + (PATIENCE_S if patient else 0.0)
        while time.monotonic() < deadline and os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            time.sleep(0.001)
        os.kill(child, signal.SIGKILL)
        _, status, usage = os.wait4(child, 0)
        self._children.discard(child)
        return {
            "status": os.waitstatus_to_exitcode(status),
            "cpu_s": usage.ru_utime + usage.ru_stime,
            "peak_kb": usage.ru_maxrss,
        }


def main() -> None:
    options = json.loads(sys.argv[1])
    control = socket.socket(fileno=0)
    register_guest_package(str(Path(__file__).resolve().parent))
    preload(options["modules"], options["path"])
    from evoenv.sandbox.guest import isolation, lockdown

    try:
        host: int | None = isolation.pidfd_of(os.getppid())
    except OSError:
        host = None
    runtime = load_runtime(options["runtime"])
    if options["runtime"] is None:
        warm_up(runtime)
    base_bytes = lockdown.mapped_bytes()
    os.environ.clear()
    sys.argv.clear()
    given_up = isolation.Isolation(options["without"], options["uid"])
    given_up.apply()
    sys.path.clear()
    sys.path_importer_cache.clear()
    gc.collect()
    gc.freeze()
    gc.disable()
    ready = {"layers": given_up.layers, "missing": given_up.missing, "python": sys.version.split()[0]}
    control.sendall(json.dumps(ready).encode() + b"\n")
    try:
        Zygote(control, runtime, given_up, base_bytes).run(host)
    finally:
        os._exit(0)  # nothing is left to tidy, and a finaliser could only get in the way


if __name__ == "__main__":
    main()
