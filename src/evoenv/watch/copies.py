"""Runs of an older version: copied aside, brought up to date there, and read from the copy. The run itself stays."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from evoenv.store.store import Store
from evoenv.watch.folder import stamp

COPY_AGAIN_S = 60.0
"""An older version that still writes the run is followed this often: every look copies the whole."""


@dataclass(frozen=True, slots=True)
class _Copy:
    folder: TemporaryDirectory[str]
    stamp: str
    """The run's, when it was copied."""
    at: float


class Copies:
    """Up-to-date copies of older runs, made when they are first asked for. They are deleted with this object."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._copies: dict[Path, _Copy] = {}

    def of(self, run: Path) -> Path:
        """Return the folder of a copy that has what the run had a minute ago, or later."""
        with self._lock:  # a second request waits for the copy of the first
            known, now = self._copies.get(run), stamp(run)
            if known is None or (known.stamp != now and time.monotonic() - known.at > COPY_AGAIN_S):
                folder = TemporaryDirectory(prefix="evoenv-watch-", ignore_cleanup_errors=True)
                Store.read_unchanged(run, Path(folder.name)).close()
                known = self._copies[run] = _Copy(folder, now, time.monotonic())
            return Path(known.folder.name)
