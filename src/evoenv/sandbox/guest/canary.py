"""Small attacks that the sandbox runs on itself at start-up: a layer that is named must also hold.

Each returns evidence if it got through and raises (or dies) if it was stopped. They run in throw-away workers,
some with the system call filter off so that the layers behind it are tried as well. They only look.
"""

from __future__ import annotations

import mmap
import os
import resource
import socket
from collections.abc import Callable, Iterator
from typing import Any


def _stopped(reason: str) -> str:
    raise PermissionError(reason)


def read_root_directory() -> str:
    return f"listed /: {os.listdir('/')[:3]}"


def see_a_system_directory() -> str:
    return f"/usr exists: {os.stat('/usr').st_mtime}"


def see_a_network_interface() -> str:
    names = [name for _, name in socket.if_nameindex() if name != "lo"]
    return f"interfaces: {names}" if names else _stopped("only lo")


def see_other_processes() -> str:
    return f"parent is process {os.getppid()}" if os.getppid() != 1 else _stopped("parent is PID 1")


def be_root() -> str:
    return "uid 0" if 0 in os.getresuid() else _stopped("not root")


def use_a_capability() -> str:
    os.chroot("/")
    return "changed the root directory"


def open_a_descriptor() -> str:
    return f"duplicated descriptor 0 as {os.dup(0)}"


def raise_a_limit() -> str:
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    return "raised RLIMIT_NOFILE"


def read_the_environment() -> str:
    return f"environment: {sorted(os.environ)[:5]}" if os.environ else _stopped("empty")


def map_executable_memory() -> str:
    mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_EXEC)
    return "mapped an executable page"


def open_a_file() -> str:
    return f"opened / as {os.open('/', os.O_RDONLY)}"


def learn_the_pid() -> str:
    return f"process {os.getpid()}" if os.getpid() > 0 else _stopped("refused")


def open_a_socket() -> str:
    return f"socket {socket.socket().fileno()}"


def fork_a_process() -> str:
    child = os.fork()
    if child == 0:
        os._exit(0)
    return f"forked {child}"


def signal_the_parent() -> str:
    os.kill(os.getppid(), 0)  # not process 1: without a namespace that is nobody's but root's to signal
    return "signalled the parent"


ATTACKS: dict[str, Callable[[], str]] = {
    attack.__name__: attack
    for attack in (
        read_root_directory,
        see_a_system_directory,
        see_a_network_interface,
        see_other_processes,
        be_root,
        use_a_capability,
        open_a_descriptor,
        raise_a_limit,
        read_the_environment,
        map_executable_memory,
        open_a_file,
        learn_the_pid,
        open_a_socket,
        fork_a_process,
        signal_the_parent,
    )
}


def handle(op: str, args: dict[str, Any], items: list[Any]) -> Iterator[Any]:
    """Run each named attack and yield its result: `ok` with the evidence means that it got through."""
    for name in items:
        try:
            yield ["ok", ATTACKS[name]()]
        except Exception as error:
            yield ["err", type(error).__name__, str(error), None]
