"""The worker's system calls: a short allow-list, compiled to classic BPF by hand.

Three verdicts. *Allow* what CPython needs to compute and to talk on descriptor 0. *Refuse* (EPERM) what
ordinary code may touch without meaning harm: a refused `open` is a PermissionError that a traceback can
name. *Kill* everything else, every other architecture's calling convention, and x32.

libseccomp is not asked for: it may be absent on a fresh machine, and the filter is forty lines.
"""

from __future__ import annotations

import errno
import platform
import struct

KILL = 0x80000000  # SECCOMP_RET_KILL_PROCESS
REFUSE = 0x00050000 | errno.EPERM  # SECCOMP_RET_ERRNO
ALLOW = 0x7FFF0000  # SECCOMP_RET_ALLOW

PROT_EXEC = 0x4
MAP_ANONYMOUS = 0x20
X32_BIT = 0x40000000

# Offsets in struct seccomp_data; both architectures are little-endian, so an argument's low half is first.
OFFSET_NUMBER = 0
OFFSET_ARCHITECTURE = 4
OFFSET_ARGUMENT = tuple(16 + 8 * index for index in range(6))

LOAD = 0x20  # BPF_LD | BPF_W | BPF_ABS
IF_EQUAL = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
IF_AT_LEAST = 0x35  # BPF_JMP | BPF_JGE | BPF_K
IF_ANY_BIT = 0x45  # BPF_JMP | BPF_JSET | BPF_K
RETURN = 0x06  # BPF_RET | BPF_K

AUDIT_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

# name: (x86_64, aarch64); None if the architecture never had the call.
ALLOWED: dict[str, tuple[int | None, int | None]] = {
    "munmap": (11, 215),
    "brk": (12, 214),
    "mremap": (25, 216),
    "madvise": (28, 233),
    "exit": (60, 93),
    "exit_group": (231, 94),
}
ON_DESCRIPTOR_ZERO: dict[str, tuple[int | None, int | None]] = {"read": (0, 63), "write": (1, 64)}
MMAP = (9, 222)
MPROTECT = (10, 226)
REFUSED: dict[str, tuple[int | None, int | None]] = {
    "open": (2, None),
    "openat": (257, 56),
    "openat2": (437, 437),
    "close": (3, 57),
    "stat": (4, None),
    "fstat": (5, 80),
    "lstat": (6, None),
    "newfstatat": (262, 79),
    "statx": (332, 291),
    "access": (21, None),
    "faccessat": (269, 48),
    "faccessat2": (439, 439),
    "readlink": (89, None),
    "readlinkat": (267, 78),
    "getdents64": (217, 61),
    "getcwd": (79, 17),
    "lseek": (8, 62),
    "pread64": (17, 67),
    "ioctl": (16, 29),
    "fcntl": (72, 25),
    "dup": (32, 23),
    "poll": (7, None),
    "getrandom": (318, 278),
    "getpid": (39, 172),
    "getppid": (110, 173),
    "gettid": (186, 178),
    "getuid": (102, 174),
    "geteuid": (107, 175),
    "getgid": (104, 176),
    "getegid": (108, 177),
    "uname": (63, 160),
    "sysinfo": (99, 179),
    "times": (100, 153),
    "getrusage": (98, 165),
    "prlimit64": (302, 261),
    "sched_yield": (24, 124),
    "sched_getaffinity": (204, 123),
    "time": (201, None),
    "gettimeofday": (96, 169),
    "clock_gettime": (228, 113),
    "clock_getres": (229, 114),
    "nanosleep": (35, 101),
    "clock_nanosleep": (230, 115),
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "sigaltstack": (131, 132),
    "tgkill": (234, 131),
}


class UnknownArchitectureError(OSError):
    """No table of system call numbers for this machine."""


def _instruction(code: int, if_true: int, if_false: int, operand: int) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, operand)


def _load(offset: int) -> bytes:
    return _instruction(LOAD, 0, 0, offset)


def _return(verdict: int) -> bytes:
    return _instruction(RETURN, 0, 0, verdict)


def _when_number_is(number: int, body: bytes) -> bytes:
    """Run `body`, which ends in a return, for this system call; else step over it."""
    return _instruction(IF_EQUAL, 0, len(body) // 8, number) + body


def _allow_if(test: int, operand: int) -> bytes:
    return _instruction(test, 0, 1, operand) + _return(ALLOW) + _return(REFUSE)


def _refuse_if(test: int, operand: int, otherwise: bytes) -> bytes:
    return _instruction(test, 0, 1, operand) + _return(REFUSE) + otherwise


def build_filter(machine: str | None = None) -> bytes:
    """Build the BPF program for this machine (or the named one). Raises UnknownArchitectureError."""
    machine = platform.machine() if machine is None else machine
    if machine not in AUDIT_ARCHITECTURES:
        known = " and ".join(AUDIT_ARCHITECTURES)
        raise UnknownArchitectureError(
            f"no system call table for {machine or 'this machine'}; there is one for {known}"
        )
    column = list(AUDIT_ARCHITECTURES).index(machine)

    program = _load(OFFSET_ARCHITECTURE)
    program += _instruction(IF_EQUAL, 1, 0, AUDIT_ARCHITECTURES[machine]) + _return(KILL)
    program += _load(OFFSET_NUMBER)
    if machine == "x86_64":
        program += _instruction(IF_AT_LEAST, 0, 1, X32_BIT) + _return(KILL)

    for numbers in ON_DESCRIPTOR_ZERO.values():
        number = numbers[column]
        assert number is not None
        program += _when_number_is(number, _load(OFFSET_ARGUMENT[0]) + _allow_if(IF_EQUAL, 0))
    # Anonymous memory only, and never executable.
    anonymous = _load(OFFSET_ARGUMENT[3]) + _allow_if(IF_ANY_BIT, MAP_ANONYMOUS)
    program += _when_number_is(MMAP[column], _load(OFFSET_ARGUMENT[2]) + _refuse_if(IF_ANY_BIT, PROT_EXEC, anonymous))
    program += _when_number_is(
        MPROTECT[column], _load(OFFSET_ARGUMENT[2]) + _refuse_if(IF_ANY_BIT, PROT_EXEC, _return(ALLOW))
    )
    for table, verdict in ((ALLOWED, ALLOW), (REFUSED, REFUSE)):
        for numbers in table.values():
            number = numbers[column]
            if number is not None:
                program += _when_number_is(number, _return(verdict))
    return program + _return(KILL)
