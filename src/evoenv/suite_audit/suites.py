"""The sets of a suite, by one short text: a folder, an RLVE-Gym checkout, `reasoning-gym`, or any other set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from evoenv.environment import reasoning_gym
from evoenv.environment.files import join_controller
from evoenv.environment.sets import EnvironmentEntry, SourceFiles, load_set, parse_set
from evoenv.records import Finding, environment_id
from evoenv.sandbox.host import Sandbox

WHERE = "the suite"
EXPECTED = (
    "a folder of environments, an RLVE-Gym checkout, `reasoning-gym`, `reasoning-gym:NAME,…`, `seeds` or `corpus:SPLIT`"
)


@dataclass(frozen=True)
class Source:
    """What is judged: one source, or the reason why there is none."""

    text: str
    modules: tuple[str, ...] = ()
    levels: int | None = None
    """How many the set has, if its importer knows."""
    notes: tuple[str, ...] = ()
    """What a reader should know beside the verdict, such as levels that were left out."""
    problem: Finding | None = None


@dataclass(frozen=True)
class Member:
    """One set of a suite."""

    name: str
    key: str
    """Changes when the set does: a verdict is kept only for the key it was given to."""
    read: Callable[[Sandbox], Source]
    path: Path | None = None
    """The file that `evoenv play` can open; None if the audit has to write one."""


def read_suite(text: str, modules: Sequence[str] = ()) -> tuple[list[Member], tuple[str, ...]]:
    """Return the sets that a text names, and the modules that their sandbox must be opened with."""
    kind, _, names = text.partition(":")
    if kind == "reasoning-gym":
        chosen = [name for name in names.split(",") if name] or reasoning_gym.all_names()
        reasoning_gym.check_names(chosen)
        version = reasoning_gym.version()
        return [_dataset(name, version) for name in chosen], (*modules, reasoning_gym.MODULE)
    named = parse_set(text, where=WHERE, paths_first=True)
    entries = load_set(named, where=WHERE, expected=EXPECTED, modules=modules, keep_unreadable=True)
    root = named.path if isinstance(named, SourceFiles) else None
    return [_entry(entry, root) for entry in entries], tuple(modules)


def _dataset(name: str, version: str) -> Member:
    def read(sandbox: Sandbox) -> Source:
        (dataset,) = reasoning_gym.read_datasets([name], sandbox=sandbox, errors_show=True)
        left_out = reasoning_gym.left_out(dataset.source)
        return Source(
            dataset.source,
            (reasoning_gym.MODULE,),
            reasoning_gym.level_count(dataset.source),
            tuple(f"level {level} is left out: {reason}" for level, reason in left_out.items()),
        )

    return Member(name, f"reasoning-gym {version}", read)


def _entry(entry: EnvironmentEntry, root: Path | None) -> Member:
    source, problem = entry.source, entry.problem
    if problem is None and entry.controller is not None:
        source, problem = join_controller(entry.source, entry.controller)
    path = None if root is None or not entry.path else (root / entry.path if root.is_dir() else root)
    name = Path(entry.path).parent.name if Path(entry.path).stem == "environment" else entry.name
    key = " ".join([environment_id(source), *entry.modules])  # of what is judged, the controller included
    return Member(name, key, lambda _: Source(source, entry.modules, problem=problem), path)
