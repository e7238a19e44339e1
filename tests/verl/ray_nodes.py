"""Two "nodes" of a Ray cluster on this machine, started as docs/scale.md says; and processes that are waited for."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

RAY = str(Path(sys.executable).with_name("ray"))


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


def complaints(log: Path) -> list[str]:
    """List the errors that a run told its user of."""
    return [line for line in log.read_text(errors="replace").splitlines() if line.startswith("evoenv: ")]


def descendants(process: int) -> set[int]:
    import psutil  # not in the environment of the other tests, which read this file as well

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


@dataclass(frozen=True)
class Nodes:
    """Two nodes that were started."""

    address: str
    second: int
    """The process under which all of the second node run."""

    def lose_second(self) -> None:
        """Kill it with all that runs on it, as if its power were cut."""
        import psutil

        for number in [*descendants(self.second), self.second]:
            with suppress(psutil.NoSuchProcess):
                psutil.Process(number).kill()


def free_port() -> int:
    """Find a port for a cluster: another one may run on this machine meanwhile."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def two_nodes(directory: Path) -> Iterator[Nodes]:
    """Start the commands of docs/scale.md, section "Several nodes", with one device on each node."""
    port = free_port()
    address = f"127.0.0.1:{port}"
    shared = ["--block", "--disable-usage-stats", "--num-cpus=8", "--num-gpus=1"]
    here = ["--node-ip-address=127.0.0.1", f"--port={port}"]
    head = [RAY, "start", "--head", *here, "--include-dashboard=false", *shared]
    logs = directory / "first.log", directory / "second.log"
    with started(head, logs[0]) as first:
        wait_for(logs[0], "Ray runtime started", first)
        with started([RAY, "start", f"--address={address}", *shared], logs[1]) as second:
            wait_for(logs[1], "Ray runtime started", second)
            processes = descendants(first.pid) | descendants(second.pid)
            yield Nodes(address, second.pid)
            for process in (second, first):
                process.terminate()
                process.wait()
            wait_until_gone(processes)
