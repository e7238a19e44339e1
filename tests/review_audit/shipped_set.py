"""The shipped set in this process: its labels with witnesses, and its classes, which are our own and trusted."""

from __future__ import annotations

import tomllib
from functools import cache
from typing import Any

import oracles_numbers
import oracles_structures

from evoenv.environment.base import VerifiableEnvironment
from evoenv.review_audit.labels import shipped_folder

ASKED = {**oracles_numbers.ASKED, **oracles_structures.ASKED}
RIGHT = oracles_structures.RIGHT
ENTRIES: list[dict[str, Any]] = tomllib.loads((shipped_folder() / "labels.toml").read_text())["environment"]
SOUND = {entry["task"]: entry for entry in ENTRIES if entry["label"] == "sound"}
BUGGY = {entry["task"]: entry for entry in ENTRIES if entry["label"] == "buggy"}


def source(entry: dict[str, Any]) -> str:
    return (shipped_folder() / entry["file"]).read_text()


@cache
def loaded(file: str) -> Any:
    names: dict[str, Any] = {"VerifiableEnvironment": VerifiableEnvironment}
    exec(compile((shipped_folder() / file).read_text(), file, "exec"), names)
    (found,) = (value for key, value in names.items() if isinstance(value, type) and key != "VerifiableEnvironment")
    return found()


def environment(entry: dict[str, Any]) -> Any:
    return loaded(entry["file"])


def as_text(answer: object) -> str:
    """The reference as a solver would write it."""
    return " ".join(map(str, answer)) if isinstance(answer, list) else str(answer)
