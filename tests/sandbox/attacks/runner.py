"""Run the attack suite and print, as JSON, what each attack achieved as seen from outside.

    python runner.py protected|control|filter-only|no-filter NAME...        (no names: all)

Standard library and EvoEnv only, so that it also runs under another user and another interpreter.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import shutil
import signal
import socket
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from snippets import ATTACKS, CLAIM, Attack

from evoenv.sandbox.host import Failed, Limits, Ok, Outcome, Sandbox

FILE_SECRET = "hunter2-in-a-file"
MEMORY_SECRET = b"hunter2-in-memory"
ENVIRONMENT_SECRET = "hunter2-in-the-environment"
LAYERS = (
    "namespaces",
    "uid",
    "capabilities",
    "no-new-privs",
    "untraceable",
    "landlock",
    "seccomp",
    "rlimits",
    "parent-death",
)
LAYERS_BUT_THE_FILTER = tuple(layer for layer in LAYERS if layer not in ("seccomp", "rlimits", "parent-death"))
LIMITS = Limits(cpu_s=0.4, wall_s=1.5, memory_mb=96, reply_mb=4, deaths_per_call=2)
HOST_GROWTH_KB = 200 << 10


class Targets:
    """What an attacker would like to reach, all of it harmless and ours; and whether it was reached."""

    def __init__(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="attack-"))
        self.directory.chmod(0o777)
        self.secret = self.directory / "secret.txt"
        self.secret.write_text(FILE_SECRET)
        self.secret.chmod(0o666)
        self._before = self._listing()
        # Outside the directory: the listener's own file must not look like a change.
        self._unix_directory = Path(tempfile.mkdtemp(prefix="unix-"))
        self._unix_directory.chmod(0o755)
        unix_path = str(self._unix_directory / "socket")
        abstract = f"evoenv-attack-{os.getpid()}-{time.monotonic_ns()}"
        self._listeners = {
            "TCP": _listen(socket.socket(), ("127.0.0.1", 0)),
            "Unix": _listen(socket.socket(socket.AF_UNIX), unix_path),
            "abstract": _listen(socket.socket(socket.AF_UNIX), "\0" + abstract),
        }
        os.chmod(unix_path, 0o777)
        self._udp = socket.socket(type=socket.SOCK_DGRAM)
        self._udp.bind(("127.0.0.1", 0))
        self._udp.setblocking(False)
        self._memory = ctypes.create_string_buffer(MEMORY_SECRET)
        self._cell = ctypes.create_string_buffer(b"original")
        self._priority = os.getpriority(os.PRIO_PROCESS, 0)
        self.signals: list[int] = []
        signal.signal(signal.SIGUSR1, lambda number, _: self.signals.append(number))

    def describe(self) -> dict[str, Any]:
        return {
            "dir": str(self.directory),
            "secret": str(self.secret),
            "host": os.getpid(),
            "port": self._listeners["TCP"].getsockname()[1],
            "udp": self._udp.getsockname()[1],
            "unix": self._listeners["Unix"].getsockname(),
            "abstract": self._listeners["abstract"].getsockname()[1:].decode(),
            "address": ctypes.addressof(self._memory),
            "length": len(MEMORY_SECRET),
            "cell": ctypes.addressof(self._cell),
        }

    def damage(self) -> list[str]:
        found = []
        if self._listing() != self._before:
            found.append(f"the directory changed: {sorted(path.name for path in self.directory.iterdir())}")
        for name, listener in self._listeners.items():
            with contextlib.suppress(BlockingIOError):
                listener.accept()[0].close()
                found.append(f"a {name} connection arrived")
        with contextlib.suppress(BlockingIOError):
            self._udp.recv(10)
            found.append("a UDP packet arrived")
        if self._cell.value != b"original":
            found.append("the host's memory was written")
        if self.signals:
            found.append("the host was signalled")
        if os.getpriority(os.PRIO_PROCESS, 0) != self._priority:
            found.append("the host's priority was changed")
        return found

    def _listing(self) -> dict[str, Any]:
        return {
            path.name: (path.lstat().st_mode, path.lstat().st_nlink, path.lstat().st_size)
            for path in self.directory.iterdir()
        }

    def close(self) -> None:
        for listener in (*self._listeners.values(), self._udp):
            listener.close()
        shutil.rmtree(self.directory)
        shutil.rmtree(self._unix_directory)


def _listen(listener: socket.socket, address: Any) -> socket.socket:
    listener.bind(address)
    listener.listen()
    listener.setblocking(False)
    return listener


def _evidence_in(outcomes: list[Outcome]) -> list[str]:
    # Failure messages count too: an exception's text is a way out as good as any.
    text = json.dumps([outcome.value if isinstance(outcome, Ok) else outcome.message for outcome in outcomes])
    found = ["a secret came out"] if "hunter2" in text else []
    accepted = json.dumps([outcome.value for outcome in outcomes if isinstance(outcome, Ok)])
    for word, meaning in (
        (CLAIM, "a forbidden action went through"),
        ("forged", "a forged answer was accepted"),
        ("NaN", "NaN was accepted"),
        ("Infinity", "an infinite number was accepted"),
        ("\\ud800", "a lone surrogate was accepted"),
    ):
        if word in accepted:
            found.append(meaning)
    return found


def _died(zygote: Any, seconds: float) -> bool:
    """Whether a process is dead, after at most so long: one that is killed may take its time over dying."""
    ends = time.monotonic() + seconds
    while zygote.alive and time.monotonic() < ends:
        time.sleep(0.01)
    return not zygote.alive


def children_of_zygote(sandbox: Sandbox) -> list[int]:
    """Processes below the sandbox's own (the keeper and the zygote): there must be none when all is closed."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, ValueError):
                parents[int(entry.name)] = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
    root = sandbox._zygotes[False].pid
    below = {pid for pid, parent in parents.items() if parent == root}
    if any("namespaces" in layer and "pid" in layer for layer in sandbox._zygotes[False].layers):
        below = {pid for pid, parent in parents.items() if parent in below}  # the keeper's only child is the zygote
    return sorted(below)


def run_attack(sandbox: Sandbox, attack: Attack, patience: float) -> dict[str, Any]:
    """Run one attack in a fresh worker; return what it achieved, and whether the host can go on.

    If nothing else shows that it succeeded, `patience` is how long the zygote's death is waited for.
    """
    targets = Targets()
    resource_before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    descriptors_before = len(os.listdir("/proc/self/fd"))
    start = time.monotonic()
    evidence: list[str] = []
    recovered = False
    try:
        with sandbox.open(attack.code) as worker:
            zygote = sandbox._zygotes[False]
            outcomes = worker.call("attack", [targets.describe()])
            died = _died(zygote, 0.01)
            later = worker.call("honest", [None])
            if isinstance(later[0], Ok) and later[0].value != "honest":
                evidence.append(f"a later call was answered falsely: {later[0].value!r}")
            recovered = worker.call("honest", [None]) == [Ok("honest")]
        evidence += _evidence_in([*outcomes, *later])
        if died:
            evidence.append("the zygote died")
        if attack.name == "leave a daemon behind":
            time.sleep(0.4)
        evidence += targets.damage()
        if left := children_of_zygote(sandbox):
            evidence.append(f"processes left behind: {left}")
        if not evidence and patience and _died(zygote, patience):
            evidence.append("the zygote died")
    finally:
        targets.close()
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - resource_before
    if grown > HOST_GROWTH_KB:
        evidence.append(f"the host grew by {grown >> 10} MB")
    if len(os.listdir("/proc/self/fd")) > descriptors_before:
        evidence.append("the host lost descriptors")
    first = outcomes[0]
    return {
        "evidence": evidence,
        "recovered": recovered,
        "outcome": f"{first.kind}: {first.message}" if isinstance(first, Failed) else f"ok: {first.value!r:.80}",
        "seconds": round(time.monotonic() - start, 3),
    }


def main(mode: str, names: list[str]) -> None:
    chosen = [attack for attack in ATTACKS if (not names or attack.name in names)]
    if mode == "control":
        chosen = [attack for attack in chosen if attack.control == "live"]
    runtime = Path(__file__).with_name("raw_runtime.py")
    without = {"protected": (), "control": LAYERS, "no-filter": ("seccomp",)}.get(mode, LAYERS_BUT_THE_FILTER)
    report: dict[str, Any] = {"uid": os.getuid(), "results": {}}
    with Sandbox(LIMITS, runtime=runtime, without=without, allow_degraded="seccomp" in without) as sandbox:
        report["layers"] = list(sandbox.layers)
        for attack in chosen:
            # where every attack succeeds, none is given up before it had its time
            report["results"][attack.name] = run_attack(sandbox, attack, 30.0 if mode == "control" else 0.0)
    json.dump(report, sys.stdout)


if __name__ == "__main__":
    if os.environ.get("EVOENV_ATTACK_SECRET") != ENVIRONMENT_SECRET:
        # In the environment from the start: /proc shows what a process was started with.
        os.environ["EVOENV_ATTACK_SECRET"] = ENVIRONMENT_SECRET
        os.execv(sys.executable, [sys.executable, *sys.argv])
    main(sys.argv[1], sys.argv[2:])
