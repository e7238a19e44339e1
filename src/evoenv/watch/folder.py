"""Which runs may be looked at: one, or all below a directory; and whether they have changed."""

from __future__ import annotations

import fcntl
import os
import threading
import time
from contextlib import suppress
from pathlib import Path

from evoenv.errors import InputError
from evoenv.store.database import DATABASE_NAME, LOCK_NAME, is_run

DEPTH = 3
"""Levels below the directory that are searched for runs: `runs/name`, or `comparison/curriculum/name`."""
MOST_RUNS = 500
LOOK_EVERY_S = 1.0
UNSETTLED_S = 0.05
"""A file's time is coarse: a change this shortly before a look may be followed by another of the same time."""


class RunFolder:
    """The runs below a directory, by names that are paths relative to it. No other path can be named."""

    def __init__(self, directory: Path, *, wait: bool = False) -> None:
        """Accept the directory of a run, or one with runs below it. With `wait` there may be no run yet."""
        self.directory = directory
        self._lock = threading.Lock()
        self._found: tuple[float, dict[str, Path]] = (float("-inf"), {})
        try:
            exists = directory.is_dir()
        except (OSError, ValueError) as error:
            raise InputError(
                f"{str(directory)[:200]!r} cannot be a path ({error}); give the folder of a run"
            ) from error
        if not exists and not wait:
            raise InputError(f"there is no directory {directory}; give the folder of a run, or one that holds runs")
        if not wait and not self.runs():
            raise InputError(
                f"there is no run in {directory} or below it ({DATABASE_NAME} is missing); give the folder of a run, "
                "or one that holds runs"
            )

    def runs(self) -> dict[str, Path]:
        """Name the runs that are there; looked for anew every second or so."""
        with self._lock:
            if time.monotonic() - self._found[0] > LOOK_EVERY_S:
                self._found = (time.monotonic(), self._search())
            return self._found[1]

    def _search(self) -> dict[str, Path]:
        """Find the directory itself if it is a run, else the runs below it, by path."""
        if is_run(self.directory):
            return {self.directory.resolve().name or "run": self.directory}
        runs: dict[str, Path] = {}
        for folder, folders, files in os.walk(self.directory):  # links are not followed: they may lead outside
            path = Path(folder)
            depth = len(path.relative_to(self.directory).parts)
            if DATABASE_NAME in files and depth:
                runs[path.relative_to(self.directory).as_posix()] = path
                folders.clear()
            elif depth >= DEPTH:
                folders.clear()
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            if len(runs) >= MOST_RUNS:
                break
        return runs

    def find(self, name: str | None) -> tuple[str, Path]:
        """Find a run by name, or the one that was changed last if no name is given."""
        runs = self.runs()
        if name is None:
            if not runs:
                raise InputError("there is no run yet; it appears here as soon as it has begun")
            name = max(runs, key=lambda key: changed_at(runs[key]))
        if name not in runs:
            raise InputError(f"there is no run called {name[:200]!r}; it may have been moved or deleted")
        return name, runs[name]


def changed_at(run: Path) -> float:
    """Return when a run's database was last written, in seconds since 1970; 0 if it is gone."""
    times = [0.0]
    for suffix in ("", "-wal"):
        with suppress(OSError):
            times.append((run / (DATABASE_NAME + suffix)).stat().st_mtime)
    return max(times)


def stamp(run: Path) -> str:
    """Return a text that changes whenever the run's database does. Looks at files, opens nothing."""
    parts: list[object] = []
    for suffix in ("", "-wal"):
        try:
            facts = (run / (DATABASE_NAME + suffix)).stat()
        except OSError:
            parts.append("-")
            continue
        parts += [facts.st_ino, facts.st_size, facts.st_mtime_ns, time.time() - facts.st_mtime < UNSETTLED_S]
    return ".".join(map(str, parts))


def opened_at(run: Path) -> float | None:
    """Return when the run was opened for writing last; None if nobody knows."""
    try:
        return (run / LOCK_NAME).stat().st_mtime
    except OSError:
        return None


def is_running(run: Path) -> bool:
    """Say whether a process holds the run for writing."""
    try:
        with (run / LOCK_NAME).open(encoding="utf-8") as held:
            # Emptied by whoever lets go, it is left alone: our own look must not stand in the way of a run that begins.
            if not held.read(1):
                return False
            # What a killed process has written proves nothing: its number may belong to another one by now.
            fcntl.flock(held, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except (OSError, ValueError):
        return False
    return False
