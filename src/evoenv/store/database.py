"""One SQLite file: opening, locking, migrating, transactions, and errors that say what to do.

Write-ahead logging, one writer. The writer holds a lock file beside the database for as long as it lives; the
kernel releases it when the process dies, however it dies. Readers need no lock and never disturb the writer.
"""

from __future__ import annotations

import errno
import fcntl
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from evoenv.errors import StoreError
from evoenv.store.schema import MIGRATIONS, SCHEMA_VERSION

DATABASE_NAME = "run.sqlite"
LOCK_NAME = "run.lock"
LOOKS, LOOK_S = 5, 0.01
"""How often and after how many seconds a lock that is held is tried again."""


def is_run(path: Path) -> bool:
    """Return whether this is the directory of a run; False for what cannot be a path at all."""
    try:
        return (path / DATABASE_NAME).is_file()
    except (OSError, ValueError):  # a name that is too long, a NUL
        return False


class RunLock:
    """An exclusive hold on a run directory, naming the process that has it."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / LOCK_NAME
        try:
            self._file = open(self._path, "a+", encoding="utf-8")  # noqa: SIM115 - held for as long as the run is open
        except OSError as error:
            raise StoreError(
                f"cannot write in {directory}: {error.strerror}; check the path and its permissions"
            ) from error
        try:
            self._take()
        except OSError as error:
            self._file.seek(0)
            holder = self._file.read().strip() or "unknown"
            self._file.close()
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                raise StoreError(
                    f"{directory} is in use by process {holder}; a run has one writer. Wait for it or stop it; "
                    "reading commands (report, envs, export) work meanwhile"
                ) from error
            raise StoreError(
                f"{self._path} cannot be locked ({error.strerror}); put the run on a local file system"
            ) from error
        self._file.seek(0)
        self._file.truncate()
        self._file.write(str(os.getpid()))
        self._file.flush()

    def _take(self) -> None:
        """Take the lock; who looks whether a run is running (`evoenv watch`) holds it for a moment."""
        for _ in range(LOOKS):
            with suppress(BlockingIOError):
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            time.sleep(LOOK_S)
        fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def release(self) -> None:
        if not self._file.closed:
            with suppress(OSError):
                self._file.truncate(0)
            self._file.close()


@contextmanager
def boundary(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into ours: what happened to which run, and what to do about it."""
    try:
        yield
    except sqlite3.Error as error:
        text = str(error)
        code = getattr(error, "sqlite_errorname", "") or ""
        if code.startswith("SQLITE_FULL") or "disk is full" in text:
            advice = (
                "the disk is full. Nothing that was committed is lost: free some space, then continue with --resume"
            )
        elif code.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
            advice = (
                f"the database is damaged ({text}). Copy it; `sqlite3 {path.name} .recover | sqlite3 mended.sqlite` "
                "saves what can be read; then put mended.sqlite in its place"
            )
        elif code.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
            advice = f"it cannot be opened for this ({text}); check that it exists, and its permissions"
        elif code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            advice = "another program has locked the database; close it and try again"
        elif code.startswith("SQLITE_IOERR"):
            advice = f"the disk failed ({text}); what was committed is still readable. Check the disk, then --resume"
        else:
            raise
        raise StoreError(f"{path}: {advice}") from error


def _mode(path: Path, read_only: bool) -> str:
    if not read_only:
        return "mode=rwc"
    # On read-only media SQLite cannot make its shared-memory file; a cleanly closed run needs none.
    untouched = not os.access(path.parent, os.W_OK) and not path.with_name(path.name + "-wal").exists()
    return "mode=ro&immutable=1" if untouched else "mode=ro"


class Database:
    """A connection with explicit transactions."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        self.read_only = read_only
        self._depth = 0
        with boundary(path):
            self._connection = sqlite3.connect(
                f"{path.absolute().as_uri()}?{_mode(path, read_only)}", uri=True, isolation_level=None, timeout=30.0
            )
        try:
            with boundary(path):
                if not read_only:
                    self._connection.execute("PRAGMA journal_mode = WAL")
                    self._connection.execute("PRAGMA synchronous = NORMAL")
                self._connection.execute("PRAGMA cache_size = -65536")
                self.version = int(self._connection.execute("PRAGMA user_version").fetchone()[0])
        except BaseException:
            self._connection.close()
            raise

    def check_version(self) -> None:
        if self.version > SCHEMA_VERSION:
            raise StoreError(
                f"{self.path} was written by a newer EvoEnv (schema {self.version}; this one knows up to "
                f"{SCHEMA_VERSION}); upgrade evoenv to read it"
            )

    def migrate(self, unpack_text: Callable[[str | bytes], str]) -> None:
        """Bring the tables up to date, each version in one transaction; `unpack_text` reads what they hold packed."""
        self.check_version()
        self._connection.create_function("unpack_text", 1, unpack_text, deterministic=True)
        for version in range(self.version, SCHEMA_VERSION):
            with self.transaction(durable=True):
                for statement in MIGRATIONS[version]:
                    self.execute(statement)
                self.execute(f"PRAGMA user_version = {version + 1}")
            self.version = version + 1

    def copy_to(self, path: Path) -> None:
        """Copy the whole database as it is at this moment into a new file; whoever writes goes on undisturbed."""
        path.unlink(missing_ok=True)
        with boundary(self.path), closing(sqlite3.connect(path)) as copy:
            self._connection.backup(copy)

    def add_function(self, name: str, function: Callable[[Any, Any], Any]) -> None:
        """Let queries call a pure function of two arguments by this name."""
        self._connection.create_function(name, 2, function, deterministic=True)

    def execute(self, sql: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        with boundary(self.path):
            return self._connection.execute(sql, values)

    def execute_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        with boundary(self.path):
            self._connection.executemany(sql, rows)

    def query(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with boundary(self.path):
            return self._connection.execute(sql, values).fetchall()

    @contextmanager
    def transaction(self, *, durable: bool = False) -> Iterator[None]:
        """Do all or nothing; inside another transaction, be part of that one.

        `durable` also survives a power cut: it waits for the disk. Without it a kill of the process loses
        nothing either, and the many small records of a step stay cheap.
        """
        if self._depth:
            yield
            return
        if durable:
            self.execute("PRAGMA synchronous = FULL")
        self.execute("BEGIN IMMEDIATE")
        self._depth = 1
        try:
            yield
            self.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):  # a full disk may have rolled back already
                self._connection.execute("ROLLBACK")
            raise
        finally:
            self._depth = 0
            if durable:
                with suppress(sqlite3.Error):
                    self._connection.execute("PRAGMA synchronous = NORMAL")

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Hold one unchanging view for all reads inside; the writer goes on undisturbed."""
        self.execute("BEGIN")
        try:
            yield
        finally:
            with suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")

    def close(self) -> None:
        self._connection.close()
