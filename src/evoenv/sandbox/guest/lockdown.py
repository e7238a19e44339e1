"""What a guest gives up, one function per thing taken away.

Covered: files (Landlock, an empty mount namespace, seccomp, RLIMIT_NOFILE), network (network namespace, Landlock,
seccomp), other processes (PID namespace, Landlock scopes, seccomp, RLIMIT_NPROC), privileges (uid, capabilities,
no_new_privs), memory and CPU (rlimits, with the host's own clock on top; the first to go when memory runs out),
new code pages (seccomp), the host's environment (a clean exec), outliving the host (parent-death signal, PID
namespace).

Not covered: faults of the kernel behind the few allowed calls, side channels between processes on one
core, and lies told by an environment about itself inside its own worker: those are for validation to find.

Everything here is Linux; elsewhere each function raises OSError and the layer counts as missing.
"""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import signal
import struct
import sys
from collections.abc import Callable

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_SECCOMP = 22
PR_CAPBSET_DROP = 24
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_CLEAR_ALL = 4
SECCOMP_MODE_FILTER = 2
CAPABILITY_VERSION_3 = 0x20080522
LAST_POSSIBLE_CAPABILITY = 63

NAMESPACES = {
    "user": 0x10000000,
    "pid": 0x20000000,
    "net": 0x40000000,
    "mnt": 0x00020000,
    "ipc": 0x08000000,
    "uts": 0x04000000,
    "cgroup": 0x02000000,
}

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 1, 2, 4, 8, 32
MS_REC, MS_PRIVATE = 0x4000, 0x40000
MNT_DETACH = 2

# The same numbers on every architecture: the calls are younger than the common table.
SYS_CLOSE_RANGE = 436
SYS_LANDLOCK_CREATE_RULESET = 444
SYS_LANDLOCK_RESTRICT_SELF = 446
LANDLOCK_CREATE_RULESET_VERSION = 1

STACK_BYTES = 8 << 20

_libc = ctypes.CDLL(None, use_errno=True)


def _checked(function: Callable[..., int], *arguments: object) -> int:
    """Call into libc; a negative result becomes an OSError."""
    result = function(*arguments)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def _libc_function(name: str) -> Callable[..., int]:
    try:
        function: Callable[..., int] = getattr(_libc, name)
    except AttributeError:
        raise OSError(errno.ENOSYS, f"{name}() is not in this C library") from None
    return function


def _prctl(option: int, *values: int) -> None:
    padded = [ctypes.c_ulong(value) for value in (*values, 0, 0, 0, 0)[:4]]
    _checked(_libc_function("prctl"), option, *padded)


def _syscall(number: int, *arguments: object) -> int:
    if sys.platform != "linux":
        raise OSError(errno.ENOSYS, "not Linux")
    return _checked(_libc.syscall, ctypes.c_long(number), *arguments)


# ----------------------------------------------------------------------------- privileges


def forbid_new_privileges() -> None:
    """Take the power from set-uid programs; Landlock and seccomp also ask this of the unprivileged."""
    _prctl(PR_SET_NO_NEW_PRIVS, 1)


def set_traceable(traceable: bool) -> None:
    """Allow or forbid tracing: if forbidden, no ptrace, no /proc/PID/mem, no core dump, even from the same user."""
    _prctl(PR_SET_DUMPABLE, int(traceable))


def die_with_parent(parent: int) -> None:
    """Ask for SIGKILL when the parent goes. Repeat after every change of credentials, which clears it."""
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


def drop_user(uid: int, gid: int) -> None:
    """Change from root to nobody, with no group left."""
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)


def drop_capabilities() -> None:
    """Drop every capability, also those that a new user namespace has just granted, and the way back to them."""
    for capability in range(LAST_POSSIBLE_CAPABILITY + 1):
        try:
            _prctl(PR_CAPBSET_DROP, capability)
        except OSError:
            continue  # EINVAL: no such capability; EPERM: we hold none to begin with
    try:
        _prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    except OSError as error:
        if error.errno != errno.EINVAL:  # kernels before 4.3 have no ambient set
            raise
    header = ctypes.create_string_buffer(struct.pack("Ii", CAPABILITY_VERSION_3, 0))
    nothing = ctypes.create_string_buffer(24)
    _checked(_libc_function("capset"), header, nothing)


# ----------------------------------------------------------------------------- the world outside


def enter_namespaces(names: list[str]) -> None:
    """Enter own, empty views of users, processes, network, mounts and so on. A later fork is PID 1."""
    uid, gid = os.getuid(), os.getgid()
    flags = 0
    for name in names:
        flags |= NAMESPACES[name]
    if "user" in names:
        set_traceable(True)  # after a change of uid /proc/self would belong to root, and the maps with it
    _checked(_libc_function("unshare"), flags)
    if "user" in names:
        for path, text in (
            ("/proc/self/setgroups", "deny"),
            ("/proc/self/uid_map", f"{uid} {uid} 1"),
            ("/proc/self/gid_map", f"{gid} {gid} 1"),
        ):
            descriptor = os.open(path, os.O_WRONLY)
            try:
                os.write(descriptor, text.encode())
            finally:
                os.close(descriptor)


def leave_file_system() -> None:
    """Trade every mount for one empty, read-only directory, in a mount namespace of our own."""
    mount, unmount = _libc_function("mount"), _libc_function("umount2")
    _checked(mount, b"none", b"/", None, ctypes.c_ulong(MS_REC | MS_PRIVATE), None)
    flags = MS_NOSUID | MS_NODEV | MS_NOEXEC
    _checked(mount, b"none", b"/proc", b"tmpfs", ctypes.c_ulong(flags), b"size=4k,mode=555")
    os.chdir("/proc")
    _checked(_libc_function("pivot_root"), b".", b".")
    _checked(unmount, b".", MNT_DETACH)
    _checked(mount, None, b"/", None, ctypes.c_ulong(flags | MS_REMOUNT | MS_RDONLY), b"size=4k,mode=555")
    os.chdir("/")


def landlock_version() -> int:
    """Return the kernel's Landlock ABI; raise OSError if there is none."""
    return _syscall(SYS_LANDLOCK_CREATE_RULESET, None, ctypes.c_size_t(0), LANDLOCK_CREATE_RULESET_VERSION)


def landlock_deny_all() -> int:
    """Make a ruleset (descriptor) that handles all that this kernel's Landlock knows of and allows none of it."""
    version = landlock_version()
    files = (1 << 13) - 1
    files |= (1 << 13) if version >= 2 else 0  # moving between directories
    files |= (1 << 14) if version >= 3 else 0  # truncating
    files |= (1 << 15) if version >= 5 else 0  # device ioctl
    network = 0b11 if version >= 4 else 0  # TCP bind, connect
    scopes = 0b11 if version >= 6 else 0  # abstract sockets and signals to outside the domain
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    attributes = ctypes.create_string_buffer(struct.pack("QQQ", files, network, scopes))
    return _syscall(SYS_LANDLOCK_CREATE_RULESET, attributes, ctypes.c_size_t(size), 0)


def landlock_restrict(ruleset: int) -> None:
    """Put this process and its future children under the ruleset."""
    _syscall(SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0)


# ----------------------------------------------------------------------------- the worker's own means


def limit_resources(memory_bytes: int, cpu_seconds: int, base_bytes: int) -> None:
    """Allow no file, descriptor, process, core or locked page; `memory_bytes` above what was mapped at the start."""
    limits = {
        resource.RLIMIT_DATA: base_bytes + memory_bytes,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_NOFILE: 1,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NPROC: 0,
        resource.RLIMIT_MEMLOCK: 0,
    }
    if sys.platform == "linux":
        limits[resource.RLIMIT_STACK] = STACK_BYTES
        limits[resource.RLIMIT_AS] = base_bytes + memory_bytes
        limits[resource.RLIMIT_MSGQUEUE] = 0
    for kind, limit in limits.items():
        hard = resource.getrlimit(kind)[1]
        value = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(kind, (value, value))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 1))  # SIGXCPU first: it tells the reason


def volunteer_for_out_of_memory() -> None:
    """Let the kernel end a worker, not the trainer beside it, when memory runs out. Forks inherit this."""
    with open("/proc/self/oom_score_adj", "w", encoding="ascii") as score:
        score.write("1000")


def close_descriptors(first: int) -> None:
    """Close every descriptor from `first` on."""
    try:
        _syscall(SYS_CLOSE_RANGE, ctypes.c_uint(first), ctypes.c_uint(0xFFFFFFFF), 0)
    except OSError:
        os.closerange(first, min(resource.getrlimit(resource.RLIMIT_NOFILE)[0], 1 << 16))


def filter_system_calls(program: bytes) -> None:
    """Allow only what `seccomp.py` allows from here on: the last step."""
    code = ctypes.create_string_buffer(program, len(program))
    header = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code)))
    _prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(header))


def mapped_bytes() -> int:
    """Return how much address space this process has mapped now."""
    try:
        with open("/proc/self/statm", encoding="ascii") as statm:
            return int(statm.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 256 << 20


def failure_in_child(attempt: Callable[[], None]) -> str | None:
    """Try something irreversible in a throw-away child: None, or why it failed there."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            attempt()
            os._exit(0)
        except BaseException as error:
            os.write(writer, str(error).encode()[:400])
        finally:
            os._exit(1)
    os.close(writer)
    why = os.read(reader, 500).decode("utf-8", "replace")
    os.close(reader)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return None if status == 0 else why or f"the attempt ended with status {status}"
