"""What tells one curriculum from another. All else of a step is the same for every one of them (`evoenv.evolve`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from evoenv.records import Group
from evoenv.stages.context import Run


@dataclass(frozen=True, slots=True)
class Curriculum:
    """A rule for what a step trains on."""

    name: str
    collect: Callable[[Run, int], None]
    """Do everything in a step that samples or decides, and leave it in the store. Asked again after a stop, it
    continues where the store says it was."""
    groups: Callable[[Run, int], list[Group]]
    """Say what a collected step trains on, read back from the store: a resumed run computes lost updates again."""
    environments: bool = True
    """Whether it draws on a pool of environments (`curriculum.environments`)."""
    rotates: bool = False
    """Whether environments that were used long enough leave the pool."""
    trains: bool = True
