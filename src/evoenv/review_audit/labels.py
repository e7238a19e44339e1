"""Labelled environments: the shipped set, a folder of the user's own, programs of the corpus, or a run's candidates.

The text that names a set is that of `evoenv.environment.sets`, and `shipped`; labels are added here. A run's candidates
are labelled by the corpus's consistency oracle, which needs no judge. A folder holds sources and
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
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

import evoenv
from evoenv.corpus import FAULTS, Author, Split, break_program, read_environment
from evoenv.environment.files import imported_modules, read_source
from evoenv.environment.sets import CorpusPart, Datasets, RunPool, Seeds, SourceFiles, parse_set
from evoenv.errors import InputError
from evoenv.records import derive_seed
from evoenv.store.store import Store

SHIPPED = "shipped"
LABEL_FILES = ("labels.toml", "labels.json")
CORPUS_COUNT = 40
"""Programs of each label, if no number is asked for."""
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
    modules: tuple[str, ...] = ()
    """Modules beyond the allow-list that it may import."""


@dataclass(frozen=True, slots=True)
class LabelledSet:
    name: str
    items: tuple[Labelled, ...]

    @property
    def modules(self) -> tuple[str, ...]:
        """What the sandbox of this set must be opened with, beyond the allow-list."""
        return tuple(sorted({module for item in self.items for module in item.modules}))

    @property
    def digest(self) -> str:
        """Names the sources and labels: results of another set must not be mixed in."""
        parts = [f"{item.name}\x1f{item.buggy}\x1f{item.source}" for item in self.items]
        return hashlib.sha256("\x1e".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]

    @property
    def labels(self) -> dict[str, bool]:
        return {item.name: item.buggy for item in self.items}


class LabelEntry(msgspec.Struct, frozen=True):
    """One environment of a labels file."""

    file: str
    label: Literal["sound", "buggy"]
    kind: str = ""
    note: str = ""


def read_set(where: str, *, count: int | None = None, seed: int = 0) -> LabelledSet:
    """Read the set called `shipped` or `corpus` (or a split of it), or that of a run, a folder or a labels file.

    `count` draws that many of each label.
    """
    if count is not None and count < 1:
        raise InputError(f"the number of environments of each label is {count}; expected 1 or more")
    named = SourceFiles(shipped_folder()) if where == SHIPPED else parse_set(where, where="labels")
    match named:
        case CorpusPart():
            number = count or named.count or CORPUS_COUNT
            return LabelledSet(where, corpus_items(number, seed, named.split))
        case RunPool():
            items = run_items(named.directory)
        case SourceFiles():
            items = read_folder(named.path)
        case Seeds() | Datasets():  # nobody has labelled them; a folder of that name may have labels
            items = read_folder(Path(where))
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
    """Draw `count` of each label (all, if there are fewer), in the order of the set."""
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
    (file, times), *_ = Counter(entry.file for entry in entries).most_common(1)
    if times > 1:
        raise InputError(f"{path} labels {file} {times} times; keep one of them")
    return tuple(
        Labelled(entry.file, _source(path, entry.file), entry.label == "buggy", entry.kind, entry.note)
        for entry in entries
    )


def _labels_file(where: Path) -> Path:
    try:
        if where.is_file():
            return where
        files = [where / name for name in LABEL_FILES if (where / name).is_file()]
        exists = where.is_dir()
    except (OSError, ValueError) as error:  # a NUL in the name is a ValueError
        raise InputError(f"cannot read {str(where)[:200]!r}: {getattr(error, 'strerror', None) or error}") from error
    if not exists:
        raise InputError(
            f"there is no folder {str(where)[:200]!r}; give 'shipped', 'corpus', a run, or a folder with a labels file"
        )
    if not files:
        raise InputError(f"{where} has neither labels.toml nor labels.json: which of its environments are sound?")
    return files[0]


def _entries(path: Path) -> list[LabelEntry]:
    try:
        text = path.read_text(encoding="utf-8")
        document: Any = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
        if isinstance(document, dict):
            document = document["environment"]
        return msgspec.convert(document, list[LabelEntry])
    except (ValueError, RecursionError) as error:  # also msgspec's, TOML's, JSON's and UTF-8's
        raise InputError(f"{path} cannot be read: {error}") from error
    except KeyError as error:
        raise InputError(f"{path} has no 'environment': expected one [[environment]] table for each file") from error
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error


def _source(labels: Path, name: str) -> str:
    try:
        source, problem = read_source(labels.parent / name)
    except InputError as error:
        raise InputError(f"{labels} names {name}: {error}") from error
    if problem is not None:
        raise InputError(f"{labels} names {name}: {problem.message}; {problem.hint}")
    return source


# --------------------------------------------------------------------------- the corpus


def corpus_items(count: int, seed: int, split: Split = "all") -> tuple[Labelled, ...]:
    """Compose `count` sound programs, and break as many others, by each fault in its turn."""
    author = Author(seed, split)
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
    """Label every distinct candidate of a run that can be read back into the corpus's parts, by its first appearance.

    Sound means that the prompt asks for what the code computes, buggy that it asks for something else.
    """
    known: set[str] = set()
    items: list[Labelled] = []
    with Store.read(directory) as store:
        allowed = set(store.meta("config").get("validation", {}).get("modules", ()))
        for step in range(1, store.last_step() + 1):
            for candidate in store.candidates(step):
                source = candidate.source or ""
                if source in known:
                    continue
                known.add(source)
                reading = read_environment(source)
                if reading.consistent is not None:
                    modules = tuple(sorted(imported_modules(source) & allowed))
                    buggy = not reading.consistent
                    items.append(Labelled(candidate.id, source, buggy, reading.fault, reading.reason, modules))
    if not items:
        raise InputError(
            f"none of the {len(known):,} candidates of {directory} can be labelled: only what is composed of the "
            "corpus's parts, as nano writes it, can be read without a judge. Label a folder by hand instead"
        )
    return tuple(items)
