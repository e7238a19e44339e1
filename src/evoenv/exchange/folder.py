"""A pool as a plain directory: one source file and one metadata file per environment, readable in a diff.

    pool.json                     what this is, and the format's version
    sorting-1a2b3c4d.py           the source, to the byte
    sorting-1a2b3c4d.json         name, origin, licence, verdict, calibration, lineage, place in the pool

Nothing in it depends on when or where it was packed, so packing the same pool twice gives the same bytes. Entries are
in order of `position`; removing an environment means removing its two files.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from evoenv.durable import replace_file, whole_directory
from evoenv.errors import InputError
from evoenv.exchange.bundle import PoolEntry, from_metadata, to_metadata
from evoenv.records import environment_id

POOL_NAME = "pool.json"
FORMAT, VERSION = "evoenv-pool", 1
SEARCHED = ("", "environments", "scorer/environments", "*/scorer/environments", "*/*/scorer/environments")
"""Where a pool may lie below the path that is named: an export carries one inside its scorer."""


def find_pool(path: Path) -> Path | None:
    """Return the directory of the packed pool at `path`, or within the export at `path`."""
    if not path.is_dir():
        return None
    for pattern in SEARCHED:
        for pool in sorted(path.glob(f"{pattern}/{POOL_NAME}" if pattern else POOL_NAME)):
            return pool.parent
    return None


def new_directory(directory: Path) -> AbstractContextManager[Path]:
    """Give a directory to fill that takes the place of `directory`, which is missing or empty, once it is whole."""
    return whole_directory(directory, replace=False, explain=_cannot_write)


def _cannot_write(directory: Path, error: OSError) -> InputError:
    return InputError(f"cannot write {directory}: {error.strerror or error}; nothing was kept. Choose another place")


def write_pool(entries: Sequence[PoolEntry], directory: Path) -> None:
    """Pack entries into an existing, empty directory."""
    write_json(directory / POOL_NAME, {"format": FORMAT, "version": VERSION})
    for position, entry in enumerate(entries):
        _write_entry(directory, position, entry)


def _write_entry(directory: Path, position: int, entry: PoolEntry) -> None:
    """Write the source first: a metadata file never lacks its source, and a source alone is refused with advice."""
    replace_file(directory / f"{entry.stem}.py", [entry.source.encode("utf-8", "surrogatepass")])
    metadata = to_metadata(entry)
    write_json(directory / f"{entry.stem}.json", {"id": metadata.pop("id"), "position": position, **metadata})


def extend_pool(directory: Path, entries: Sequence[PoolEntry]) -> list[PoolEntry]:
    """Add entries to the pool in `directory`, which is made if it is missing. Returns those it did not have."""
    if not (directory / POOL_NAME).is_file():
        with new_directory(directory) as staged:
            write_pool(entries, staged)
        return list(entries)
    there = read_pool(directory)
    known = {entry.id for entry in there}
    added = [entry for entry in entries if entry.id not in known]
    positions = [read_json(path)["position"] for path in directory.glob("*.json") if path.name != POOL_NAME]
    try:
        for position, entry in enumerate(added, 1 + max(positions, default=-1)):
            _write_entry(directory, position, entry)
    except OSError as error:
        raise InputError(f"cannot write in {directory}: {error.strerror}; what was there is untouched") from error
    return added


def read_pool(directory: Path) -> list[PoolEntry]:
    """Read the entries of a packed pool in their order. Every file is checked before any is believed."""
    head = read_json(directory / POOL_NAME)
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise InputError(f"{directory / POOL_NAME} is not that of a packed pool; expected format {FORMAT!r}")
    if head.get("version") != VERSION:
        raise InputError(
            f"{directory} is a packed pool of version {head.get('version')!r}; this EvoEnv reads {VERSION}. Upgrade it"
        )
    rows: list[tuple[int, str, PoolEntry]] = []
    described: set[str] = set()
    for path in sorted(directory.glob("*.json")):
        if path.name != POOL_NAME:
            position, entry = _read_entry(path)
            rows.append((position, path.name, entry))
            described.add(path.stem)
    if strays := sorted(path.name for path in directory.glob("*.py") if path.stem not in described):
        raise InputError(
            f"{directory / strays[0]} has no metadata file; import it instead: `evoenv import {directory / strays[0]}`"
        )
    entries = [entry for _, _, entry in sorted(rows, key=lambda row: row[:2])]
    if len({entry.id for entry in entries}) < len(entries):
        raise InputError(f"{directory} holds the same source twice; remove one of the two")
    return entries


def _read_entry(path: Path) -> tuple[int, PoolEntry]:
    source_path = path.with_suffix(".py")
    data = read_json(path)
    try:
        source = source_path.read_bytes().decode("utf-8", "surrogatepass")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {source_path}: {error}; {path.name} describes it") from error
    try:
        named, position = str(data["id"]), int(data["position"])
        entry = from_metadata(source, data)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        what = f"lacks {error}" if isinstance(error, KeyError) else f"is damaged ({error})"
        raise InputError(
            f"{path} {what}; restore it, or import the source anew: `evoenv import {source_path}`"
        ) from error
    if named != entry.id:
        raise InputError(
            f"{source_path} was changed after it was packed (its hash is {environment_id(source)}, {path.name} says "
            f"{named}), so its verdict is stale; restore it, or import it anew: `evoenv import {source_path}`"
        )
    return position, entry


def write_json(path: Path, document: Any) -> None:
    text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    # A lone surrogate becomes \\udc80, which is how JSON says it.
    replace_file(path, [text.encode("utf-8", "backslashreplace")])


def read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not JSON ({error}); restore it from where the pool came from") from error
