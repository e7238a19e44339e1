"""A verified environment on its way: what it is, where it comes from, and how it was judged.

`load_entries` reads entries out of anything that holds environments: a run, a packed pool, an export, or a set of
environments by its name.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evoenv.errors import InputError
from evoenv.records import Calibration, Dialect, Finding, ValidationReport, environment_id

if TYPE_CHECKING:
    from evoenv.sandbox.host import Sandbox

SEEDS = "seeds"
"""The name of the packaged environments, if a path is asked for."""
OWN_LICENCE = "Apache-2.0"
"""Of the seeds and the corpus."""
NOT_JUDGED = ValidationReport(0)


@dataclass(frozen=True, slots=True)
class PoolEntry:
    """One environment with all that is known of it. Named by content: `id` is the hash of `source`."""

    source: str
    name: str
    origin: str
    """Where it comes from, in words: `evoenv seed`, `generated`, `RLVE-Gym/Sorting`."""
    licence: str | None = None
    modules: tuple[str, ...] = ()
    """Modules beyond the allow-list that its user has allowed by name."""
    report: ValidationReport = NOT_JUDGED
    """The verdict that travels with it; times are left out, they say nothing of the environment."""
    calibration: Calibration | None = None
    asymmetry: float | None = None
    """By how much programs did better than words when it was admitted; None if that was not measured."""
    similarity: float | None = None
    """To what was admitted before it, when it was admitted."""
    reviews: tuple[str, ...] = ()
    """Verdicts of the semantic review."""
    parents: tuple[str, ...] = ()
    """Ids of the examples that its author saw."""
    tags: tuple[str, ...] = ()
    original: bool = False
    active: bool = True
    epochs: int = 0
    level: tuple[int, int, int] = (0, 0, 0)
    """RLVE's adaptive difficulty: the top level, right and all samples there."""
    admitted_step: int = 0
    retired_step: int | None = None
    id: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", environment_id(self.source))
        object.__setattr__(self, "report", stamp(self.report))

    @property
    def dialect(self) -> Dialect | None:
        return self.report.dialect

    @property
    def stem(self) -> str:
        """Its file name without an ending: readable, and unique within a pool."""
        plain = "".join(char if char.isascii() and (char.isalnum() or char in "-_") else "-" for char in self.name)
        return f"{plain[:60] or 'environment'}-{self.id[:8]}"


def stamp(report: ValidationReport) -> ValidationReport:
    """Drop from a report what changes from one run of the checks to the next, and what the source says already."""
    return replace(report, seconds=0.0, cpu_seconds=0.0, prompt_template="")


# --------------------------------------------------------------------------- metadata


def to_metadata(entry: PoolEntry) -> dict[str, Any]:
    """Return everything but the source, as plain JSON in a fixed order."""
    report, calibration = entry.report, entry.calibration
    return {
        "id": entry.id,
        "name": entry.name,
        "origin": entry.origin,
        "licence": entry.licence,
        "modules": list(entry.modules),
        "tags": sorted(entry.tags),
        "validation": {
            "layer": report.layer,
            "class": report.class_name,
            "dialect": report.dialect,
            "family": report.family,
            "findings": [[finding.code, finding.message, finding.hint] for finding in report.findings],
            "sandbox": list(report.sandbox),
        },
        "calibration": None
        if calibration is None
        else {"pass_rate": calibration.pass_rate, "scores": list(calibration.scores)},
        "asymmetry": entry.asymmetry,
        "similarity": entry.similarity,
        "reviews": list(entry.reviews),
        "parents": list(entry.parents),
        "original": entry.original,
        "active": entry.active,
        "epochs": entry.epochs,
        "level": list(entry.level),
        "admitted_step": entry.admitted_step,
        "retired_step": entry.retired_step,
    }


def from_metadata(source: str, data: Any) -> PoolEntry:
    """Restore an entry. Raises ValueError, TypeError or KeyError if the metadata is not what `to_metadata` wrote."""
    report, calibration = data["validation"], data["calibration"]
    entry = PoolEntry(
        source=source,
        name=_text(data["name"]),
        origin=_text(data["origin"]),
        licence=None if data["licence"] is None else _text(data["licence"]),
        modules=_texts(data["modules"]),
        report=ValidationReport(
            layer=_number(report["layer"]),
            findings=tuple(_finding(*_texts(finding)) for finding in report["findings"]),
            class_name=report["class"],
            dialect=report["dialect"],
            family=report["family"],
            sandbox=_texts(report["sandbox"]),
        ),
        calibration=None
        if calibration is None
        else Calibration(tuple(float(score) for score in calibration["scores"]), float(calibration["pass_rate"])),
        # Pools that were packed before it was measured do not have it.
        asymmetry=None if data.get("asymmetry") is None else float(data["asymmetry"]),
        similarity=None if data["similarity"] is None else float(data["similarity"]),
        reviews=_texts(data["reviews"]),
        parents=_texts(data["parents"]),
        tags=_texts(data["tags"]),
        original=bool(data["original"]),
        active=bool(data["active"]),
        epochs=_number(data["epochs"]),
        level=_level(data["level"]),
        admitted_step=_number(data["admitted_step"]),
        retired_step=None if data["retired_step"] is None else _number(data["retired_step"]),
    )
    if not 0 <= entry.report.layer <= 5:
        raise ValueError(f"'layer' is {entry.report.layer}, expected 0 to 5")
    return entry


def _text(value: Any) -> str:
    if type(value) is not str:
        raise TypeError(f"expected text, got {type(value).__name__}")
    return value


def _finding(code: str, message: str, hint: str) -> Finding:
    return Finding(code, message, hint)


def _texts(value: Any) -> tuple[str, ...]:
    if type(value) is not list:
        raise TypeError(f"expected a list of texts, got {type(value).__name__}")
    return tuple(_text(item) for item in value)


def _number(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise TypeError(f"expected a whole number of 0 or more, got {value!r}")
    return value


def _level(value: Any) -> tuple[int, int, int]:
    level, right, total = (_number(number) for number in value)
    return level, right, total


# --------------------------------------------------------------------------- loading


def read_entries(
    path: str | Path,
    *,
    trust: bool = False,
    origin: str | None = None,
    licence: str | None = None,
    modules: tuple[str, ...] = (),
) -> list[PoolEntry]:
    """Read every environment of a set (`evoenv.environment.sets` has the grammar), a packed pool or an export.

    The order is stable, and a path that exists goes before a name; `NOT_JUDGED` marks a verdict that is still missing.

    A run's own verdicts are believed; those stamped on a packed pool or export only with `trust`. `modules` are what
    the user allows by name beyond the allow-list: a run's environments were allowed theirs when they were imported, a
    pool from elsewhere cannot allow itself any.
    """
    from evoenv.environment.sets import RunPool, Seeds, SourceFiles, parse_set
    from evoenv.exchange import folder, runs, sources

    named = parse_set(str(path), where=sources.WHERE, paths_first=True)
    if isinstance(named, RunPool):
        return runs.read_run(named.directory)
    if isinstance(named, SourceFiles) and (packed := folder.find_pool(named.path)) is not None:
        entries = [replace(entry, licence=entry.licence or licence) for entry in folder.read_pool(packed)]
        for entry in entries:
            if trust and (unknown := sorted(set(entry.modules) - set(modules))):
                raise InputError(
                    f"{entry.name} uses {unknown[0]}, which is not on the allow-list; if you trust it, allow it by "
                    f"name: --allow-module {unknown[0]}"
                )
        if trust:
            return entries
        return [
            replace(entry, modules=tuple(module for module in entry.modules if module in modules), report=NOT_JUDGED)
            for entry in entries
        ]
    if trust and not isinstance(named, Seeds):
        raise InputError(f"{path} holds bare sources, which carry no verdict to trust; leave --trust out")
    return sources.read_sources(named, origin=origin, licence=licence, modules=modules)


def load_entries(
    path: str | Path, *, trust: bool = False, sandbox: Sandbox | None = None, modules: tuple[str, ...] = ()
) -> list[PoolEntry]:
    """Read entries as `read_entries` does and judge them. Entries that fail are returned too: their report says why."""
    from evoenv.exchange.checking import judged

    return judged(read_entries(path, trust=trust, modules=modules), sandbox)


def modules_of(entries: Iterable[PoolEntry]) -> tuple[str, ...]:
    """Collect the modules beyond the allow-list that some entry was allowed: what their sandbox must bring along."""
    return tuple(sorted({module for entry in entries for module in entry.modules}))
