"""The filter, run by a small BPF interpreter: the verdict on every call, on both architectures."""

from __future__ import annotations

import struct

import pytest

from evoenv.sandbox.guest import seccomp
from evoenv.sandbox.guest.seccomp import ALLOW, KILL, REFUSE, build_filter

ARCHITECTURES = ("x86_64", "aarch64")
COLUMN = {"x86_64": 0, "aarch64": 1}


def verdict(machine: str, number: int, arguments: tuple[int, ...] = (), *, audit: int | None = None) -> int:
    """Return what the kernel would decide."""
    padded = [*arguments, 0, 0, 0, 0, 0, 0][:6]
    audit = seccomp.AUDIT_ARCHITECTURES[machine] if audit is None else audit
    data = struct.pack("<iIQ6Q", number, audit, 0, *(value & (2**64 - 1) for value in padded))
    program = [struct.unpack("HBBI", chunk) for chunk in _chunks(build_filter(machine))]
    accumulator, position = 0, 0
    for _ in range(len(program)):
        code, if_true, if_false, operand = program[position]
        position += 1
        if code == 0x20:
            (accumulator,) = struct.unpack_from("<I", data, operand)
        elif code == 0x06:
            return operand
        else:
            holds = {0x15: accumulator == operand, 0x35: accumulator >= operand, 0x45: bool(accumulator & operand)}[
                code
            ]
            position += if_true if holds else if_false
    raise AssertionError("the program runs off its end")


def _chunks(program: bytes) -> list[bytes]:
    assert len(program) % 8 == 0
    return [program[start : start + 8] for start in range(0, len(program), 8)]


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_reading_and_writing_are_for_descriptor_zero(machine: str) -> None:
    for numbers in seccomp.ON_DESCRIPTOR_ZERO.values():
        number = numbers[COLUMN[machine]]
        assert number is not None
        assert verdict(machine, number, (0,)) == ALLOW
        assert verdict(machine, number, (1,)) == REFUSE
        assert verdict(machine, number, (2**32,)) == ALLOW, "the kernel looks at the low half only"
        assert verdict(machine, number, (-1,)) == REFUSE


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_memory_is_anonymous_and_never_executable(machine: str) -> None:
    mmap, mprotect = seccomp.MMAP[COLUMN[machine]], seccomp.MPROTECT[COLUMN[machine]]
    assert verdict(machine, mmap, (0, 4096, 3, 0x22)) == ALLOW
    assert verdict(machine, mmap, (0, 4096, 7, 0x22)) == REFUSE
    assert verdict(machine, mmap, (0, 4096, 5, 0x22)) == REFUSE
    assert verdict(machine, mmap, (0, 4096, 3, 0x02)) == REFUSE, "a file"
    assert verdict(machine, mprotect, (0, 4096, 3)) == ALLOW
    assert verdict(machine, mprotect, (0, 4096, 4)) == REFUSE


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_every_number_not_in_a_table_is_killed(machine: str) -> None:
    column = COLUMN[machine]
    conditional = {seccomp.MMAP[column], seccomp.MPROTECT[column]}
    conditional |= {numbers[column] for numbers in seccomp.ON_DESCRIPTOR_ZERO.values()}  # type: ignore[misc]
    allowed = {numbers[column] for numbers in seccomp.ALLOWED.values()}
    refused = {numbers[column] for numbers in seccomp.REFUSED.values()} - {None}
    assert not allowed & refused
    for number in range(600):
        if number in conditional:
            continue
        expected = ALLOW if number in allowed else REFUSE if number in refused else KILL
        assert verdict(machine, number) == expected, number


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_other_calling_conventions_are_killed(machine: str) -> None:
    assert verdict(machine, 0, (0,), audit=0x40000003) == KILL, "32-bit x86"
    assert verdict(machine, 0, (0,), audit=0x40000028) == KILL, "32-bit ARM"


def test_x32_is_killed() -> None:
    assert verdict("x86_64", 0x40000000, (0,)) == KILL
    assert verdict("x86_64", 0x40000000 + 39) == KILL


def test_an_unknown_architecture_is_named() -> None:
    with pytest.raises(OSError, match=r"no system call table for riscv64; there is one for x86_64 and aarch64"):
        build_filter("riscv64")


def test_the_program_fits_the_kernels_limit() -> None:
    for machine in ARCHITECTURES:
        assert len(build_filter(machine)) // 8 < 4096
