"""Exports: a pool written the way another project wants to read it.

A format is a module with `write(export: Export) -> str`: it fills `export.output`, an empty directory, and returns the
next step for the user in a line or two, in which `{output}` stands for the directory's final place. Nothing that is
written may name that directory: it is moved into its place when all is done, so an export is there whole or not at all.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from evoenv.errors import InputError
from evoenv.exchange.bundle import PoolEntry
from evoenv.exchange.checking import hint_for
from evoenv.exchange.folder import new_directory

if TYPE_CHECKING:
    from evoenv.exchange.items import Item, Split
    from evoenv.sandbox.host import Sandbox


class Format(NamedTuple):
    module: str
    about: str
    needs: tuple[str, ...] = ()
    """Modules that must be importable to write it."""


FORMATS: dict[str, Format] = {
    "jsonl": Format("to_jsonl", "instances as JSON lines, and the scorer"),
    "parquet": Format("to_parquet", "instances as Parquet, and the scorer", ("pyarrow",)),
    "verl": Format("to_verl", "verl: Parquet with chat prompts, and a compute_score file", ("pyarrow",)),
    "trl": Format("to_trl", "TRL: data set, reward function and environment factory"),
    "datasets": Format("to_datasets", "a Hugging Face data set folder with its card", ("pyarrow",)),
    "verifiers": Format("to_verifiers", "an installable package for verifiers"),
    "reasoning-gym": Format("to_reasoning_gym", "registered procedural data sets with curricula"),
    "openenv": Format("to_openenv", "an OpenEnv environment package"),
}


@dataclass(frozen=True, slots=True)
class Export:
    """What is to be written, and where."""

    entries: tuple[PoolEntry, ...]
    output: Path
    sandbox: Sandbox
    name: str = "evoenv-pool"
    """Of the data set or package: lower case, digits and hyphens."""
    instances: int = 64
    """Training instances of each environment, spread over the difficulties."""
    test_instances: int = 8
    difficulties: tuple[int, ...] = (0, 1, 2, 3)
    seed: int = 0
    progress: Callable[[int, int], None] | None = None
    notes: list[str] = field(default_factory=list)
    """What the user should know: environments that had fewer instances than were asked for."""

    def items(self) -> dict[Split, list[Item]]:
        """Draw the instances of each split; train and test share no prompt."""
        from evoenv.exchange.items import Wanted, draw_items

        wanted = Wanted(self.instances, self.test_instances, self.difficulties, self.seed)
        drawn = draw_items(self.entries, wanted, self.sandbox, self.progress)
        for entry in self.entries:
            have = sum(item.environment_id == entry.id for items in drawn.values() for item in items)
            if have < self.instances + self.test_instances:
                self.notes.append(
                    f"{entry.name} has only {have} distinct instances at these difficulties, "
                    f"{self.instances + self.test_instances} were asked for"
                )
        if not drawn["train"]:
            raise InputError("not one instance could be generated; try other --difficulties")
        return drawn

    def write_scorer(self, directory: str = "scorer") -> Path:
        """Write the standalone scorer to a directory of the export."""
        from evoenv.exchange.scorer.carry import write_scorer

        write_scorer(self.entries, self.output / directory)
        return self.output / directory


def run_export(export: Export, to: str) -> str:
    """Write `export` in the format `to`; what to do next, for the user."""
    kind = FORMATS.get(to)
    if kind is None:
        raise InputError(f"there is no format {to!r}; expected one of: {', '.join(FORMATS)}")
    for module in kind.needs:
        if importlib.util.find_spec(module) is None:
            raise InputError(f"--to {to} needs {module}; install it with: pip install 'evoenv[export]'")
    check_output(export.output)
    write = importlib.import_module(f"evoenv.exchange.{kind.module}").write
    with new_directory(export.output) as staged:
        advice: str = write(replace(export, output=staged))
    return advice.replace("{output}", str(export.output))


def check_output(directory: Path, flag: str = "-o") -> None:
    """Refuse, before any work, a place where nothing may be written or something would be lost."""
    try:
        if directory.is_symlink() or (directory.exists() and not directory.is_dir()):
            raise InputError(f"{directory} is not a directory; choose another {flag}")
        if directory.is_dir() and any(directory.iterdir()):
            raise InputError(
                f"{directory} is not empty, and nothing is overwritten; choose another {flag}, or remove it"
            )
        parent = directory.absolute()
        while not parent.exists():
            parent = parent.parent
    except OSError as error:
        raise InputError(f"cannot look at {directory}: {error.strerror}; choose another {flag}") from error
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        raise InputError(f"cannot write in {parent}; choose another {flag}, or change its permissions")


# --------------------------------------------------------------------------- what is exported


def choose(
    entries: Sequence[PoolEntry],
    source: str,
    *,
    only_active: bool = False,
    originals: bool = True,
    only: Sequence[str] = (),
) -> list[PoolEntry]:
    """Choose entries of `source`: active ones, generated ones, or those of these names and ids."""
    chosen = [entry for entry in entries if (entry.active or not only_active) and (originals or not entry.original)]
    if only:
        unknown = [name for name in only if all(name not in (entry.name, entry.id) for entry in entries)]
        if unknown:
            raise InputError(f"{source} has no environment {unknown[0]!r}; `evoenv envs` lists a run's")
        chosen = [entry for entry in chosen if entry.name in only or entry.id in only]
    if not chosen:
        raise InputError(f"{source} has no environment to export; relax --active, --only or the like")
    return chosen


def check_verified(chosen: list[PoolEntry]) -> None:
    """Raise InputError if an entry did not pass validation."""
    failed = [entry for entry in chosen if not entry.report.passed]
    if failed:
        first = failed[0].report.findings[0]
        more = f" and {len(failed) - 1} more" if len(failed) > 1 else ""
        raise InputError(
            f"{failed[0].name}{more} did not pass validation ({first.code}: {first.message}); {hint_for(first)} "
            "(`evoenv import` keeps those of a folder that pass)"
        )


def slug(text: str) -> str:
    """Make a name that package indexes and data set hubs accept."""
    plain = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    if not plain or not plain[0].isalpha():
        plain = f"evoenv-{plain}".rstrip("-")
    return plain[:60]
