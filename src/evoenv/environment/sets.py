"""From one short text to environments: one grammar and one loader for curricula, evaluations, audits and imports.

| text | environments |
|---|---|
| `seeds` | the packaged ones |
| `corpus:SPLIT`, `corpus:SPLIT:N`, `corpus` | programs of the procedural author: one of each family, or the first N |
| `reasoning-gym:NAME,NAME` | data sets of reasoning-gym |
| `run:DIR`, or the path of a run directory | the active pool of a run |
| the path of a file or a folder | environment files in any dialect |

`parse_set` gives a typed value, which a caller may refine; `load_set` gives the environments. Importing nothing of its
callers, it can be used by all of them.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias, get_args

from evoenv.corpus.catalogue.families import Split, families
from evoenv.corpus.compose.author import Author, Program
from evoenv.environment import reasoning_gym
from evoenv.environment.files import (
    environment_files,
    find_controller,
    imported_modules,
    join_controller,
    read_source,
    short,
)
from evoenv.environment.seeds import seed_sources
from evoenv.errors import InputError, StoreError
from evoenv.records import Finding, environment_id
from evoenv.store.database import is_run
from evoenv.store.store import Store

SEEDS, CORPUS, RUN, REASONING_GYM = "seeds", "corpus", "run", "reasoning-gym"
SPLITS: tuple[Split, ...] = get_args(Split)
SPLITS_IN_WORDS = "train, basic, paired, held-out or near"
CORPUS_SEED = 0
"""All runs that name the same part of the corpus train on the same programs."""
EXPECTED = (
    "`seeds`, `corpus:SPLIT` or `corpus:SPLIT:N` (train, basic, paired, held-out, near), `reasoning-gym:NAME`, "
    "a run (a path, or `run:DIR`), an environment file, or a folder of them"
)
_PART = re.compile(r"([a-z-]+)(?::([1-9][0-9]{0,4}))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class EnvironmentEntry:
    """One environment of a set."""

    name: str
    """For people; two entries may share one."""
    source: str
    modules: tuple[str, ...] = ()
    """Modules beyond the allow-list that it imports and may import: its sandbox must be opened with them."""
    controller: str | None = None
    """The parameter controller of an RLVE-Gym environment, which is a file of its own."""
    family: str = ""
    """Groups related environments in a table."""
    path: str = ""
    """The file it was read from, relative to the folder that was named."""
    problem: Finding | None = None
    """Why its file cannot be used; `source` may be empty then."""

    @property
    def id(self) -> str:
        return environment_id(self.source)


def modules_needed(entries: Iterable[EnvironmentEntry]) -> tuple[str, ...]:
    """Return every module beyond the allow-list that some entry needs: what their sandbox must be opened with."""
    return tuple(sorted({module for entry in entries for module in entry.modules}))


# --------------------------------------------------------------------------- the grammar


@dataclass(frozen=True, slots=True)
class Seeds:
    """The packaged environments."""


@dataclass(frozen=True, slots=True)
class CorpusPart:
    """Programs of the procedural author: `per_family` of each family, or `count` in all."""

    split: Split
    count: int | None = None
    per_family: int = 1
    seed: int = CORPUS_SEED
    distinct: bool = False
    """Compose until there are that many different programs, instead of leaving repetitions out."""


@dataclass(frozen=True, slots=True)
class Datasets:
    """Data sets of reasoning-gym, by name."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RunPool:
    """The active pool of a run."""

    directory: Path


@dataclass(frozen=True, slots=True)
class SourceFiles:
    """An environment file, or the environment files of a folder."""

    path: Path


EnvironmentSet: TypeAlias = Seeds | CorpusPart | Datasets | RunPool | SourceFiles


def parse_set(text: str, *, where: str, paths_first: bool = False) -> EnvironmentSet:
    """Parse a text to the set that it names. Whether a path exists is the loader's question.

    `where` begins error messages: the setting or flag that holds the text. With `paths_first`, a path that exists goes
    before a name that is spelt the same.
    """
    kind, colon, rest = text.partition(":")
    if not (paths_first and _exists(text)):
        if text == SEEDS:
            return Seeds()
        if kind == CORPUS:
            return _parse_part(rest if colon else "all", where)
        if kind == REASONING_GYM and colon:
            return Datasets(tuple(name for name in rest.split(",") if name))
        if kind == RUN and rest:
            return RunPool(Path(rest))
    path = Path(text)
    return RunPool(path) if is_run(path) else SourceFiles(path)


def _parse_part(text: str, where: str) -> CorpusPart:
    match = _PART.fullmatch(text)
    split = text.partition(":")[0]
    if split not in SPLITS:
        raise InputError(
            f"{where}: the corpus has no split {split[:80]!r}; expected {SPLITS_IN_WORDS}, as in corpus:held-out"
        )
    if match is None:
        raise InputError(
            f"{where}: corpus:{short(text)} names no number of programs; expected 1 to 99999 of them, as in "
            f"corpus:{split}:40"
        )
    return CorpusPart(split, int(match[2]) if match[2] else None)


def _exists(text: str) -> bool:
    try:
        return Path(text).exists()
    except (OSError, ValueError):  # a name that is too long, a NUL
        return False


# --------------------------------------------------------------------------- the loader


def check_set(named: EnvironmentSet, *, where: str, expected: str = EXPECTED) -> None:
    """Raise what `load_set` would raise at once, without composing programs or reading sources."""
    if isinstance(named, SourceFiles):
        _source_files(named.path, where, expected)
    elif isinstance(named, Datasets):
        reasoning_gym.check_names(named.names)


def load_set(
    named: EnvironmentSet,
    *,
    where: str,
    expected: str = EXPECTED,
    modules: Sequence[str] = (),
    keep_unreadable: bool = False,
) -> list[EnvironmentEntry]:
    """Load the environments of a set in a stable order, each content once.

    `modules` are what the user allows the environments of files by name, beyond the allow-list; those of a run were
    allowed theirs when they entered it. A file that cannot be used is an InputError, or, with `keep_unreadable`, an
    entry whose `problem` says why.
    """
    entries: Iterable[EnvironmentEntry]
    match named:
        case Seeds():
            entries = (EnvironmentEntry(name, source, family=name) for name, source in seed_sources().items())
        case CorpusPart():
            entries = (EnvironmentEntry(item.name, item.source, family=item.family) for item in _programs(named))
        case Datasets():
            entries = (
                EnvironmentEntry(dataset.title, dataset.source, (reasoning_gym.MODULE,), family=dataset.name)
                for dataset in reasoning_gym.read_datasets(named.names)
            )
        case RunPool():
            entries = _pool(named.directory)
        case SourceFiles():
            files = _source_files(named.path, where, expected)
            entries = _read_files(named.path, files, modules, where, keep_unreadable)
    distinct: dict[tuple[str, str | None, str], EnvironmentEntry] = {}
    for entry in entries:
        unreadable = entry.path if entry.problem is not None else ""
        distinct.setdefault((entry.source, entry.controller, unreadable), entry)
    return list(distinct.values())


def _programs(part: CorpusPart) -> Iterator[Program]:
    author = Author(part.seed, part.split)
    if part.count is not None:
        yield from _composed(map(author.compose, itertools.count()), part.count, part.distinct)
        return
    known: set[str] = set()
    for family in families(part.split):
        programs = (author.compose_family(family, index) for index in itertools.count())
        yield from _composed(programs, part.per_family, part.distinct, known)


def _composed(
    programs: Iterator[Program], count: int, distinct: bool, known: set[str] | None = None
) -> Iterator[Program]:
    """Yield the first `count` programs; with `distinct`, as many that are not `known`, to which they are added."""
    known = set() if known is None else known
    for program in programs:
        if count == 0:
            return
        if not distinct or program.source not in known:
            known.add(program.source)
            count -= 1
            yield program


def _pool(directory: Path) -> list[EnvironmentEntry]:
    with Store.read(directory) as store:
        allowed = set(store.meta("config").get("validation", {}).get("modules", ()))
        entries = []
        for record in store.environments():
            if not record.active:
                continue
            source = store.source(record.id)
            if source is None:
                raise StoreError(f"{directory} has lost the source of {record.name} ({record.id})")
            modules = tuple(sorted(imported_modules(source) & allowed))
            entries.append(EnvironmentEntry(record.name, source, modules, family=record.name))
        return entries


def _source_files(path: Path, where: str, expected: str) -> list[Path]:
    try:
        if path.is_dir():
            files = environment_files(path)
            if not files:
                raise InputError(f"{where}: the folder {short(path)} holds no environment file; expected {expected}")
            return files
        if path.exists():
            return [path]
    except (OSError, ValueError) as error:  # a NUL in the name is a ValueError
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{where}: cannot read {short(path)!r}: {reason}; expected {expected}") from error
    raise InputError(f"{where}: there is no {short(path)!r}; expected {expected}")


def _read_files(
    path: Path, files: Sequence[Path], modules: Sequence[str], where: str, keep_unreadable: bool
) -> Iterator[EnvironmentEntry]:
    root = path.parent if files == [path] else path
    for file in files:
        entry = read_file(file, root, modules)
        if entry.problem is not None and not keep_unreadable:
            raise InputError(f"{where}: {short(file)}: {entry.problem.message}; {entry.problem.hint}")
        yield entry


def read_file(file: Path, root: Path, modules: Sequence[str] = ()) -> EnvironmentEntry:
    """Read the environment of one file below `root`, with its RLVE-Gym controller if it has one.

    `modules` are allowed to it if it imports them.
    """
    path = file.relative_to(root)
    folder = path.parent.name
    name = folder if path.stem == "environment" and folder else path.stem
    source, problem = read_source(file)
    entry = EnvironmentEntry(name, source, path=path.as_posix(), problem=problem)
    controller_path = find_controller(file)
    if problem is None and controller_path is not None:
        controller, problem = read_source(controller_path)
        if problem is not None:
            said = f"its controller {short(controller_path)}: {problem.message}"
            return replace(entry, problem=replace(problem, message=said))
        entry = replace(entry, controller=controller)
    imported = imported_modules(source) | imported_modules(entry.controller or "")
    return replace(entry, modules=tuple(sorted(imported & set(modules))))


# --------------------------------------------------------------------------- what a curriculum starts from


def check_environments(text: str, modules: Sequence[str] = ()) -> None:
    """Refuse a `curriculum.environments` that names nothing, or needs more than `modules`, before any work."""
    named = parse_set(text, where=_SETTING)
    check_set(named, where=_SETTING)
    needed: Sequence[str] = ()
    if isinstance(named, Datasets):
        needed = (reasoning_gym.MODULE,)
    elif isinstance(named, RunPool):
        needed = modules_needed(load_set(named, where=_SETTING))
    if missing := sorted(set(needed) - set(modules)):
        raise InputError(
            f"{_SETTING}: {short(text)} needs the module {missing[0]}, which validation.modules does not allow; if you "
            f"trust the code: --set 'validation.modules={json.dumps([*modules, *missing])}'"
        )


def load_environments(text: str) -> dict[str, str]:
    """Load the sources of `curriculum.environments` by name; make names distinct, join controllers to their sources."""
    sources: dict[str, str] = {}
    for entry in load_set(parse_set(text, where=_SETTING), where=_SETTING):
        source, problem = entry.source, None
        if entry.controller is not None:
            source, problem = join_controller(entry.source, entry.controller)
        if problem is not None:
            raise InputError(f"{_SETTING}: {entry.path}: {problem.message}; {problem.hint}")
        name, number = entry.name, 2
        while name in sources:
            name, number = f"{entry.name}{number}", number + 1
        sources[name] = source
    return sources


_SETTING = "curriculum.environments"
