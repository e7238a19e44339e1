"""Labelled environments: the shipped set, a folder of the user's own, programs of the corpus, or a run's candidates.

A run's candidates are labelled by the corpus's consistency oracle, which needs no judge. A folder holds sources and
`labels.toml` (`[[environment]]` tables) or `labels.json` (a list of objects), each with `file`, `label` ("sound" or
"buggy"), and for what is buggy `kind` and `note`. Other keys are the user's.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import random
import sysconfig
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

import evoenv
from evoenv.errors import InputError
from evoenv.records import derive_seed
from evoenv.store.database import is_run
from evoenv.validation.l1_source import MAX_SOURCE_BYTES

SHIPPED, CORPUS = "shipped", "corpus"
LABEL_FILES = ("labels.toml", "labels.json")
CORPUS_COUNT = 40
"""Programs of each label, where no number is asked for."""
_MAX_TRIES = 400
"""Programs looked at for one that a fault fits."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """One environment and what is known about it."""

    name: str
    source: str
    buggy: bool
    kind: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class LabelledSet:
    name: str
    items: tuple[Labelled, ...]

    @property
    def digest(self) -> str:
        """Names the sources and labels: results of another set must not be mixed in."""
        parts = [f"{item.name}\x1f{item.buggy}\x1f{item.source}" for item in self.items]
        return hashlib.sha256("\x1e".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]

    @property
    def labels(self) -> dict[str, bool]:
        return {item.name: item.buggy for item in self.items}


class Entry(msgspec.Struct, frozen=True):
    """One environment of a labels file."""

    file: str
    label: Literal["sound", "buggy"]
    kind: str = ""
    note: str = ""


def read_set(where: str, *, count: int | None = None, seed: int = 0) -> LabelledSet:
    """The set called "shipped" or "corpus", or that of a run, folder or labels file. `count`: so many of each label."""
    if count is not None and count < 1:
        raise InputError(f"the number of environments of each label is {count}; expected 1 or more")
    if where == CORPUS:
        return LabelledSet(CORPUS, corpus_items(count or CORPUS_COUNT, seed))
    path = shipped_folder() if where == SHIPPED else Path(where)
    items = run_items(path) if is_run(path) else read_folder(path)
    if count is not None:
        items = draw(items, count, seed)
    return LabelledSet(where, items)


def shipped_folder() -> Path:
    """Find the shipped set: `data/` of a source checkout, else where a wheel's data files are installed."""
    package = Path(evoenv.__file__).resolve().parent
    installed = Path("share", "evoenv", "review_audit")
    candidates = [package.parents[1] / "data" / "review_audit"]
    # The prefix is above the package for every kind of installation: virtual environment, --user, --target.
    candidates += [directory / installed for directory in package.parents]
    candidates.append(Path(sysconfig.get_path("data")) / installed)
    for folder in candidates:
        if (folder / LABEL_FILES[0]).is_file():
            return folder
    raise InputError(
        f"the shipped set is not installed: there is no {candidates[-1]}. Install EvoEnv again with its data files "
        "(a wheel or a source checkout has them), or give a folder with labels"
    )


def draw(items: Sequence[Labelled], count: int, seed: int) -> tuple[Labelled, ...]:
    """`count` of each label (all, where there are fewer), in the order of the set."""
    rng = random.Random(derive_seed("audit", seed))
    kept: set[str] = set()
    for buggy in (False, True):
        names = [item.name for item in items if item.buggy == buggy]
        kept.update(rng.sample(names, min(count, len(names))))
    return tuple(item for item in items if item.name in kept)


# --------------------------------------------------------------------------- folders


def read_folder(where: Path) -> tuple[Labelled, ...]:
    path = _labels_file(where)
    entries = _entries(path)
    if not entries:
        raise InputError(f"{path} labels no environment; expected at least one of each label")
    repeated = [name for name in dict.fromkeys(one.file for one in entries) if _times(entries, name) > 1]
    if repeated:
        raise InputError(f"{path} labels {repeated[0]} {_times(entries, repeated[0])} times; keep one of them")
    return tuple(
        Labelled(one.file, _source(path, one.file), one.label == "buggy", one.kind, one.note) for one in entries
    )


def _times(entries: Sequence[Entry], name: str) -> int:
    return sum(one.file == name for one in entries)


def _labels_file(where: Path) -> Path:
    try:
        if where.is_file():
            return where
        found = [where / name for name in LABEL_FILES if (where / name).is_file()]
        exists = where.is_dir()
    except (OSError, ValueError) as error:  # a NUL in the name is a ValueError
        raise InputError(f"cannot read {str(where)[:200]!r}: {getattr(error, 'strerror', None) or error}") from error
    if not exists:
        raise InputError(
            f"there is no folder {str(where)[:200]!r}; give 'shipped', 'corpus', a run, or a folder with a labels file"
        )
    if not found:
        raise InputError(f"{where} has neither labels.toml nor labels.json: which of its environments are sound?")
    return found[0]


def _entries(path: Path) -> list[Entry]:
    try:
        text = path.read_text(encoding="utf-8")
        document: Any = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
        if isinstance(document, dict):
            document = document["environment"]
        return msgspec.convert(document, list[Entry])
    except (ValueError, RecursionError) as error:  # also msgspec's, TOML's, JSON's and UTF-8's
        raise InputError(f"{path} cannot be read: {error}") from error
    except KeyError as error:
        raise InputError(f"{path} has no 'environment': expected one [[environment]] table for each file") from error
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error


def _source(labels: Path, name: str) -> str:
    path = labels.parent / name
    try:
        size = path.stat().st_size
        if size > MAX_SOURCE_BYTES:
            raise InputError(f"{path}, labelled in {labels}, has {size:,} bytes; the limit is {MAX_SOURCE_BYTES:,}")
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{labels} names {name}, which cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise InputError(f"{labels} names {name}, which is not UTF-8 text: {error}") from error


# --------------------------------------------------------------------------- the corpus


def corpus_items(count: int, seed: int) -> tuple[Labelled, ...]:
    """`count` sound programs, and as many others broken, each fault in its turn."""
    from evoenv.corpus import FAULTS, Author, break_program

    author = Author(seed, "all")
    items = [Labelled(f"sound-{i:04d}", author.compose(i).source, buggy=False) for i in range(count)]
    indices = itertools.count(count)  # no broken program is a twin of a sound one
    for i, fault in zip(range(count), itertools.cycle(FAULTS), strict=False):
        for index in itertools.islice(indices, _MAX_TRIES):
            broken = break_program(author.compose(index), fault, seed)
            if broken is not None:
                items.append(Labelled(f"buggy-{i:04d}", broken.source, True, fault, broken.explanation))
                break
        else:
            raise InputError(f"no program among {_MAX_TRIES} can be broken by {fault!r}; choose another seed")
    return tuple(items)


# --------------------------------------------------------------------------- what a generator wrote


def run_items(directory: Path) -> tuple[Labelled, ...]:
    """Every distinct candidate of a run that can be read back into the corpus's parts, by its first appearance.

    Sound means that the prompt asks for what the code computes, buggy that it asks for something else.
    """
    from evoenv.corpus import read_environment
    from evoenv.store.store import Store

    known: set[str] = set()
    items: list[Labelled] = []
    with Store.read(directory) as store:
        for step in range(1, store.last_step() + 1):
            for candidate in store.candidates(step):
                source = candidate.source or ""
                if source in known:
                    continue
                known.add(source)
                reading = read_environment(source)
                if reading.consistent is not None:
                    items.append(Labelled(candidate.id, source, not reading.consistent, reading.fault, reading.reason))
    if not items:
        raise InputError(
            f"none of the {len(known):,} candidates of {directory} can be labelled: only what is composed of the "
            "corpus's parts, as nano writes it, can be read without a judge. Label a folder by hand instead"
        )
    return tuple(items)
