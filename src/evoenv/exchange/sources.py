"""Environments out of plain files: any folder of sources, RLVE-Gym's pairs of environment and controller, the seeds.

RLVE-Gym keeps the map from difficulty to knobs in a file of its own. The two are joined into one source here, so that
from then on an environment is one file with one id, and nothing downstream needs to know of controllers.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from evoenv.environment.files import find_controller, read_source, short
from evoenv.environment.seeds import seed_sources
from evoenv.errors import InputError
from evoenv.exchange.bundle import SEED_LICENCE, PoolEntry
from evoenv.exchange.licences import find_licence
from evoenv.records import Finding, ValidationReport
from evoenv.validation.codes import finding
from evoenv.validation.l1_source import check_source

NOT_ENVIRONMENTS = ("__init__.py", "parameter_controller.py", "setup.py", "conftest.py")


def seed_entries() -> list[PoolEntry]:
    return [
        PoolEntry(source, name, "evoenv seed", SEED_LICENCE, original=True) for name, source in seed_sources().items()
    ]


def read_sources(
    path: Path, *, origin: str | None = None, licence: str | None = None, modules: tuple[str, ...] = ()
) -> list[PoolEntry]:
    """One unjudged entry per environment file at or below `path`; the verdict of an unreadable file says why it is.

    `modules` are allowed to those that import them.
    """
    files = list(environment_files(path))
    root = path if path.is_dir() else path.parent
    origin = origin or root.resolve().name
    entries: dict[str, PoolEntry] = {}
    for file in files:
        entry = read_entry(file, root, origin, licence or find_licence(file, root), modules)
        entries.setdefault(entry.id, entry)
    return list(entries.values())


def environment_files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
        return
    if not path.is_dir():
        raise InputError(f"there is nothing at {short(path)}; give a run, a packed pool, or files of environments")
    found = sorted(file for file in path.rglob("*.py") if file.name not in NOT_ENVIRONMENTS)
    if (path / "environments").is_dir() and (path / "parameter_controllers").is_dir():
        found = [file for file in found if find_controller(file) is not None]  # RLVE-Gym: not its base classes
    if not found:
        raise InputError(f"{short(path)} holds no environment: neither a run, nor a packed pool, nor Python files")
    yield from found


def read_entry(
    file: Path, root: Path, origin: str, licence: str | None = None, modules: tuple[str, ...] = ()
) -> PoolEntry:
    """The environment of one file, its RLVE-Gym controller joined to it where it has one."""
    place = file.relative_to(root).with_suffix("")
    label = place.parent.name if place.name == "environment" and place.parent.name else place.name
    source, problem = read_source(file)
    controller = find_controller(file)
    if problem is None and controller is not None:
        added, problem = read_source(controller)
        source, problem = (source, problem) if problem is not None else join_controller(source, added)
    if problem is not None:
        return PoolEntry(source or f"# {label}\n", label, origin, licence, report=ValidationReport(0, (problem,)))
    facts, _ = check_source(source)
    name = facts.class_name or label
    where = "/".join(part for part in place.parts if part not in ("environments", "environment")) or label
    return PoolEntry(source, name, f"{origin}/{where}", licence, tuple(sorted(imported_by(source) & set(modules))))


def imported_by(source: str) -> set[str]:
    """Names of the modules that a source imports, without their submodules."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and not node.level}
    return {name.partition(".")[0] for name in names}


def join_controller(source: str, controller: str) -> tuple[str, Finding | None]:
    """Environment and controller in one text, or the finding that says why they cannot share one."""
    try:
        first, second = _bound_at_top(source), _bound_at_top(controller)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return source, None  # validation says what is wrong with it; the controller would only add to it
    if both := sorted(first & second):
        message = f"environment and controller both define {', '.join(both[:5])}; rename one of the two"
        return source, finding("L1.several-classes", message)
    lines = [line for line in controller.splitlines() if not line.startswith("from __future__ ")]
    return f"{source.rstrip()}\n\n\n# The controller: difficulty to knobs.\n\n" + "\n".join(lines).strip() + "\n", None


def _bound_at_top(source: str) -> set[str]:
    """Names that a module defines, imports aside: those may repeat."""
    bound: set[str] = set()
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            bound.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            bound |= {one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)}
    return bound
