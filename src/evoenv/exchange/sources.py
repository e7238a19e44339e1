"""Unjudged pool entries out of a set of environments: seeds, corpus programs, data sets, files and folders.

RLVE-Gym keeps the map from difficulty to knobs in a file of its own. The two are joined into one source here, so that
from then on an environment is one file with one id, and nothing downstream needs to know of controllers.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

from evoenv.environment import reasoning_gym
from evoenv.environment.files import join_controller
from evoenv.environment.sets import (
    CorpusPart,
    Datasets,
    EnvironmentEntry,
    Seeds,
    SourceFiles,
    load_set,
)
from evoenv.exchange.bundle import OWN_LICENCE, PoolEntry
from evoenv.exchange.licences import find_licence
from evoenv.records import ValidationReport
from evoenv.validation.l1_source import check_source

WHERE = "the source"
"""How messages call what was named."""
EXPECTED = (
    "a run, a packed pool, an export, an environment file, a folder of them, `seeds`, `corpus:SPLIT:N`, or "
    "`reasoning-gym:NAME`"
)


def read_sources(
    named: Seeds | CorpusPart | Datasets | SourceFiles,
    *,
    origin: str | None = None,
    licence: str | None = None,
    modules: tuple[str, ...] = (),
) -> list[PoolEntry]:
    """Return one unjudged entry per environment; the verdict of an unreadable file says why it is.

    `modules` are allowed to those that import them.
    """
    entries = load_set(named, where=WHERE, expected=EXPECTED, modules=modules, keep_unreadable=True)
    match named:
        case Seeds():
            return [PoolEntry(entry.source, entry.name, "evoenv seed", OWN_LICENCE, original=True) for entry in entries]
        case CorpusPart():
            return [
                PoolEntry(entry.source, entry.name, origin or "evoenv corpus", licence or OWN_LICENCE)
                for entry in entries
            ]
        case Datasets():
            return [
                PoolEntry(
                    entry.source,
                    entry.name,
                    f"{origin or 'reasoning-gym'}/{entry.family}",
                    licence or reasoning_gym.LICENCE,
                    entry.modules,
                )
                for entry in entries
            ]
        case SourceFiles(path):
            root = path if path.is_dir() else path.parent
            return _distinct(
                pool_entry(entry, origin or root.resolve().name, licence or find_licence(root / entry.path, root))
                for entry in entries
            )


def _distinct(entries: Iterable[PoolEntry]) -> list[PoolEntry]:
    """Keep each content once: a file and its copy are one environment."""
    distinct: dict[str, PoolEntry] = {}
    for entry in entries:
        distinct.setdefault(entry.id, entry)
    return list(distinct.values())


def pool_entry(entry: EnvironmentEntry, origin: str, licence: str | None = None) -> PoolEntry:
    """Make the entry of one file's environment, its RLVE-Gym controller joined to it if it has one."""
    path = PurePosixPath(entry.path).with_suffix("")
    source, problem = entry.source, entry.problem
    if problem is None and entry.controller is not None:
        source, problem = join_controller(source, entry.controller)
    if problem is not None:
        report = ValidationReport(0, (problem,))
        return PoolEntry(source or f"# {entry.name}\n", entry.name, origin, licence, report=report)
    facts, _ = check_source(source)
    below = "/".join(part for part in path.parts if part not in ("environments", "environment")) or entry.name
    return PoolEntry(source, facts.class_name or entry.name, f"{origin}/{below}", licence, entry.modules)
