"""Modules that the user trusts by name, made to work behind the walls, where there is no file system any more.

Libraries load parts of themselves on first use; those that are known to are told to do it now. Files that
reasoning-gym reads while it works are kept in memory.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import sys
from pathlib import Path
from typing import Any

LOADED_ON_FIRST_USE: dict[str, tuple[str, ...]] = {
    "numpy": ("numpy.random", "numpy.linalg", "numpy.fft", "numpy.polynomial", "secrets"),
    "sympy": (
        "sympy.assumptions.wrapper",
        "sympy.combinatorics.tensor_can",
        "sympy.integrals.heurisch",
        "sympy.integrals.manualintegrate",
        "sympy.integrals.prde",
        "sympy.integrals.risch",
        "sympy.physics.matrices",
        "sympy.physics.units",
        "sympy.polys.polymatrix",
        "sympy.sets.setexpr",
        "sympy.tensor.array.array_derivatives",
        "sympy.tensor.tensor",
    ),
    "reasoning_gym": (
        "reasoning_gym.arc.arc_1d_tasks",
        "reasoning_gym.arc.rearc_utils.dsl",
        "reasoning_gym.arc.rearc_utils.generators",
        "reasoning_gym.arc.rearc_utils.utils",
        "reasoning_gym.arithmetic.gsm_symbolic.generators_00_49",
        "reasoning_gym.arithmetic.gsm_symbolic.generators_50_99",
        "reasoning_gym.cognition.needle_data",
        "reasoning_gym.games.contrib.sokoban.src.generator",
        "reasoning_gym.games.contrib.sokoban.src.utils",
        "reasoning_gym.induction.list_functions.generators",
    ),
}
"""Found by drawing and scoring items of all data sets and looking at what had been imported meanwhile."""

KEPT_BYTES = 16 << 20
"""A larger file is not kept: every worker would carry it."""


def import_trusted(names: list[str]) -> None:
    for name in names:
        importlib.import_module(name)
    for library, parts in LOADED_ON_FIRST_USE.items():
        if library in sys.modules:
            for part in parts:
                with contextlib.suppress(ImportError):
                    importlib.import_module(part)
    if "reasoning_gym.data" in sys.modules:
        data: Any = sys.modules["reasoning_gym.data"]
        data.resources = KeptResources(Path(data.__file__).parent)


class KeptResources:
    """In place of `importlib.resources`: `files(package).joinpath(name)` is a file in memory."""

    def __init__(self, directory: Path) -> None:
        self._files = {
            path.name: path.read_bytes()
            for path in directory.iterdir()
            if path.is_file() and path.suffix != ".py" and path.stat().st_size <= KEPT_BYTES
        }

    def files(self, package: str) -> KeptResources:
        return self

    def joinpath(self, name: str) -> KeptFile:
        return KeptFile(name, self._files.get(name))


class KeptFile:
    """As much of a `Path` as is asked of one."""

    def __init__(self, name: str, content: bytes | None) -> None:
        self._name = name
        self._content = content

    def __str__(self) -> str:
        return self._name

    def read_bytes(self) -> bytes:
        if self._content is None:
            raise FileNotFoundError(f"{self._name} is not kept in memory, and there is no file system here")
        return self._content

    def read_text(self, encoding: str = "utf-8") -> str:
        return self.read_bytes().decode(encoding)

    def open(self, mode: str = "r", encoding: str = "utf-8", **_: object) -> io.BytesIO | io.StringIO:
        return io.BytesIO(self.read_bytes()) if "b" in mode else io.StringIO(self.read_text(encoding))
