"""`untrained`: the model as it is. A step samples nothing and changes nothing."""

from __future__ import annotations

from evoenv.records import Group
from evoenv.stages.context import Run


def collect(run: Run, step: int) -> None:
    """Do nothing."""


def groups(run: Run, step: int) -> list[Group]:
    return []
