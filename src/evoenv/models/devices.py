"""How much memory a device has."""

from __future__ import annotations

import importlib.util
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

CGROUP_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


@dataclass(frozen=True, slots=True)
class Device:
    """Where a model would run."""

    kind: Literal["cpu", "gpu"]
    name: str
    memory: int
    """Bytes in all, used or not; of a CPU the machine's memory and swap, or what a container may have of it."""


def host_memory() -> int | None:
    """Return the bytes that a process of this machine can have at most, or None if the system does not say."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError, AttributeError):
        return None
    return min([memory + _swap(), *_container_limits()])


def _swap() -> int:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii", errors="replace").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("SwapTotal:"))
    except (OSError, StopIteration, ValueError, IndexError):
        return 0


def _container_limits() -> list[int]:
    limits = []
    for path in CGROUP_LIMITS:
        try:
            limits.append(int(path.read_text(encoding="ascii").strip()))
        except (OSError, ValueError):  # no such file, or "max"
            continue
    return limits


def find_device(name: str = "auto") -> Device | None:
    """Return the device that `model.device` names, with its memory; None if that cannot be told."""
    if name != "cpu" and importlib.util.find_spec("torch") is not None:
        import torch  # takes seconds: only if there may be a GPU

        if name == "auto":
            name = "cuda" if torch.cuda.is_available() else "cpu"
        if name.startswith("cuda"):
            try:
                properties = torch.cuda.get_device_properties(torch.device(name))
            except (RuntimeError, AssertionError):  # resolve_device says what is wrong with it
                return None
            return Device("gpu", properties.name, int(properties.total_memory))
    if name not in ("cpu", "auto"):
        return None
    memory = host_memory()
    return None if memory is None else Device("cpu", "CPU", memory)
