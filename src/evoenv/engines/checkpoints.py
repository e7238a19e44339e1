"""Checkpoints by reference, for engines that keep each in a directory of its own."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from evoenv.errors import PolicyError

FOLDER = "checkpoints"
"""Of a run directory."""
_REFERENCE = re.compile(r"step-\d{5,}", re.ASCII)


class CheckpointFolder:
    """The checkpoint directory of one policy: a folder `step-00003` for the version after three updates."""

    def __init__(self, directory: Path | None) -> None:
        """Name the folder; `directory` is None for a policy that will never save or load."""
        self.directory = directory

    @staticmethod
    def reference(version: int) -> str:
        return f"step-{version:05d}"

    def path(self, reference: str) -> Path:
        """Return where a checkpoint is, or will be."""
        directory = self._required()
        if not _REFERENCE.fullmatch(reference):
            raise PolicyError(f"{reference!r} is no reference to a checkpoint; expected one like 'step-00003'")
        return directory / reference

    def _required(self) -> Path:
        if self.directory is None:
            raise PolicyError("this policy was opened without a checkpoint directory; name one when opening it")
        return self.directory

    def drop(self, reference: str) -> None:
        shutil.rmtree(self.path(reference), ignore_errors=True)

    def saved(self) -> list[str]:
        """List the references of the checkpoints in the folder, oldest first."""
        directory = self._required()
        names = (
            [path.name for path in directory.iterdir() if _REFERENCE.fullmatch(path.name)] if directory.is_dir() else []
        )
        return sorted(names, key=lambda name: int(name.removeprefix("step-")))
