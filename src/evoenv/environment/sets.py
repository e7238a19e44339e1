"""The environments that a curriculum starts from, by one short text: seeds, the corpus, a file, a folder, a run."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import cast, get_args

from evoenv.corpus.catalogue.families import Split, families
from evoenv.corpus.compose.author import Author
from evoenv.environment.seeds import seed_sources
from evoenv.errors import InputError
from evoenv.records import environment_id
from evoenv.store.database import is_run

SEEDS = "seeds"
CORPUS = re.compile(rf"corpus:({'|'.join(get_args(Split))})(?::([1-9][0-9]{{0,4}}))?")
CORPUS_SEED = 0
"""All runs that name the same part of the corpus train on the same programs."""
MAX_BYTES = 1024 * 1024


def check_environments(text: str) -> None:
    """Raise InputError where `load_environments` would, without composing or loading anything big."""
    if text == SEEDS or CORPUS.fullmatch(text):
        return
    if not _files(text) and not is_run(Path(text)):
        raise InputError(f"curriculum.environments: {text} holds no Python files; expected {_EXPECTED}")


def load_environments(text: str) -> dict[str, str]:
    """Sources by name; equal sources once, names made distinct."""
    if text == SEEDS:
        return seed_sources()
    if match := CORPUS.fullmatch(text):
        return _distinct(_corpus(cast(Split, match[1]), int(match[2]) if match[2] else None))
    if is_run(Path(text)):
        from evoenv.store.store import Store

        with Store.read(Path(text)) as store:
            active = [record for record in store.environments() if record.active]
            return _distinct((record.name, store.source(record.id) or "") for record in active)
    check_environments(text)
    return _distinct((path.stem, _read(path)) for path in _files(text))


_EXPECTED = "`seeds`, `corpus:train`, `corpus:train:40`, a Python file, a folder of them, or a run directory"


def _corpus(split: Split, count: int | None) -> Iterable[tuple[str, str]]:
    """One program of each family, or the first `count` programs of the split."""
    author = Author(CORPUS_SEED, split)
    if count is None:
        programs = (author.compose_family(family, 0) for family in families(split))
    else:
        programs = (author.compose(index) for index in range(count))
    return ((program.name, program.source) for program in programs)


def _files(text: str) -> list[Path]:
    path = Path(text)
    try:
        if path.is_dir():
            return sorted(item for item in path.glob("*.py") if not item.name.startswith("_"))
        if path.is_file():
            return [path]
    except (OSError, ValueError) as error:
        raise InputError(f"curriculum.environments: cannot read {text[:200]!r}: {error}") from error
    raise InputError(f"curriculum.environments: there is no {text[:200]!r}; expected {_EXPECTED}")


def _read(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InputError(f"curriculum.environments: {path} has more than {MAX_BYTES:,} bytes")
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"curriculum.environments: cannot read {path}: {error}; expected Python source") from error


def _distinct(named: Iterable[tuple[str, str]]) -> dict[str, str]:
    found: dict[str, str] = {}
    seen: set[str] = set()
    for name, source in named:
        if environment_id(source) in seen:
            continue
        seen.add(environment_id(source))
        unique, number = name, 2
        while unique in found:
            unique, number = f"{name}{number}", number + 1
        found[unique] = source
    return found
