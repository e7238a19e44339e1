"""Files and directories that outlive a kill: put in place whole, or appended line by line and continued later."""

from __future__ import annotations

import glob
import json
import os
import shutil
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar, Self, TypeAlias

from evoenv.errors import InputError, StoreError

Explain: TypeAlias = Callable[[Path, OSError], Exception]
"""Makes the error that a user sees out of one of the system's: what to do depends on what was being written."""


def _cannot_write(path: Path, error: OSError) -> Exception:
    return StoreError(f"cannot write {path}: {error.strerror or error}; check space and permissions")


# --------------------------------------------------------------------------- whole directories


@contextmanager
def whole_directory(path: Path, *, replace: bool = True, explain: Explain = _cannot_write) -> Iterator[Path]:
    """Give a directory to fill, which stands at `path` once it is complete and synced; never half of it.

    It takes the place of what was there, or, without `replace`, of nothing or an empty directory. If the block fails,
    or the process is killed, what was there stays: `recover_directory` brings it back, also at the next call.
    """
    absolute = path.absolute()
    aside = absolute.with_name(f".{absolute.name}.part-{os.getpid()}")  # two processes may write the same directory
    try:
        absolute.parent.mkdir(parents=True, exist_ok=True)
        recover_directory(absolute)
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir()
        yield aside
        _settle(aside)
        if replace and absolute.exists():
            os.rename(absolute, _replaced(absolute))
        os.rename(aside, absolute)
        sync(absolute.parent)
    except OSError as error:
        raise explain(path, error) from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)  # gone already if all went well
        with suppress(OSError):  # what cannot be tidied up now is tidied up by the next call
            recover_directory(absolute)


def recover_directory(path: Path) -> None:
    """Put back a directory that a kill found being replaced, and remove what killed processes left beside it."""
    path = path.absolute()
    replaced = _replaced(path)
    if replaced.exists():
        if path.exists():
            shutil.rmtree(replaced, ignore_errors=True)
        else:
            os.rename(replaced, path)
    for left in path.parent.glob(f".{glob.escape(path.name)}.part-*"):
        if not _is_running(left.name.rpartition("-")[2]):
            shutil.rmtree(left, ignore_errors=True)
    for ending in ("part", "new"):  # names of earlier versions
        shutil.rmtree(path.with_name(f".{path.name}.{ending}"), ignore_errors=True)


def _replaced(path: Path) -> Path:
    """Return where the earlier directory is for the moment of the replacement."""
    return path.with_name(f".{path.name}.old")


def _settle(directory: Path) -> None:
    """Sync all that is in a directory, readable for whom the user's other files are readable."""
    mask = os.umask(0)
    os.umask(mask)
    for path in [*directory.rglob("*"), directory]:
        if not path.is_symlink():
            # safetensors writes for the owner only
            path.chmod(path.stat().st_mode | ((0o777 if path.is_dir() else 0o666) & ~mask))
            sync(path)


def _is_running(process: str) -> bool:
    try:
        os.kill(int(process), 0)
    except (ProcessLookupError, ValueError, OverflowError):
        return False
    except OSError:  # somebody else's
        return True
    return True


# --------------------------------------------------------------------------- whole files


def replace_file(path: Path, pieces: Iterable[bytes]) -> None:
    """Write a file aside, sync and rename it; leave nothing behind on failure.

    An OSError is the caller's to explain.
    """
    aside = path.with_name(f".{path.name}.{os.getpid()}")  # two processes may write the same file
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with aside.open("wb") as stream:
            stream.writelines(pieces)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(aside, path)
    except BaseException:
        with suppress(OSError):
            aside.unlink()
        raise


def write_bytes(path: Path, data: bytes) -> None:
    """Write one file, whole or not at all."""
    _write(path, [data])


def write_document(path: Path, document: Any) -> None:
    """Write one JSON document, whole or not at all."""
    _write(path, [json.dumps(document, indent=1).encode(), b"\n"])


def write_lines(path: Path, entries: Iterable[Any]) -> int:
    """Write JSON values, one to a line, whole or not at all; return how many there were."""
    count = 0

    def lines() -> Iterator[bytes]:
        nonlocal count
        for entry in entries:
            count += 1
            yield _line(entry)

    _write(path, lines())
    return count


def _write(path: Path, pieces: Iterable[bytes]) -> None:
    try:
        replace_file(path, pieces)
    except OSError as error:
        raise _cannot_write(path, error) from error


# --------------------------------------------------------------------------- files that grow


class Ledger(ABC):
    """Results of a long piece of work, in memory and, if `path` is given, in a file that the next sitting takes up.

    A kill at any moment loses at most the line being written, which the next sitting cuts off. A file whose header
    names another `identity` is refused, for its numbers would mix two experiments. One process writes at a time; its
    threads may all do so.
    """

    KIND: ClassVar[str]
    """What the header calls the file."""
    FORMAT: ClassVar[int]
    WORK: ClassVar[str]
    """What messages call the work: audit."""
    ELSEWHERE: ClassVar[str]
    """What to do to begin anew: choose another --results."""

    def __init__(self, path: Path | None, identity: Mapping[str, Any]) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._descriptor: int | None = None
        if path is not None:
            try:
                self._open(path, json.loads(json.dumps(dict(identity))))
            except BaseException:
                self.close()
                raise

    @abstractmethod
    def _take(self, entry: Any) -> None:
        """Remember a line, of this sitting or an earlier one. ValueError, KeyError or TypeError: it is damaged."""

    def _add(self, entry: Mapping[str, Any]) -> None:
        """Append and remember a line; what cannot be written is not remembered."""
        with self._lock:
            self._append(entry)
            self._take(entry)

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self, path: Path, identity: Mapping[str, Any]) -> None:
        import fcntl  # not on every platform, and whole files need no lock

        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise StoreError(f"{path} is in use by another {self.WORK}; wait for it, or {self.ELSEWHERE}") from error
        except OSError as error:
            raise InputError(
                f"cannot write the results to {path}: {error.strerror or error}; {self.ELSEWHERE}"
            ) from error
        if not self._read(path, identity):
            self._append({"kind": self.KIND, "format": self.FORMAT, **identity})
            with suppress(OSError):  # not every file system syncs directories
                sync(path.parent)

    def _read(self, path: Path, identity: Mapping[str, Any]) -> bool:
        """Take in what is there, without a torn last line. False if not even the header is."""
        assert self._descriptor is not None
        start = 0
        with open(self._descriptor, "rb", closefd=False) as stream:
            for number, line in enumerate(stream, 1):
                if not line.endswith(b"\n"):
                    if number == 1 and not self._begins_header(line):
                        raise self._foreign(path)
                    os.ftruncate(self._descriptor, start)
                    return number > 1
                if number == 1:
                    self._check_header(path, line, identity)
                else:
                    self._take_line(path, number, line)
                start += len(line)
        return start > 0

    def _take_line(self, path: Path, number: int, line: bytes) -> None:
        try:
            self._take(json.loads(line))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise StoreError(
                f"{path}:{number} is damaged ({type(error).__name__}: {error}); "
                f"remove that line to have it made again, or {self.ELSEWHERE}"
            ) from error

    def _begins_header(self, line: bytes) -> bool:
        """Return whether a torn first line is of this kind, rather than somebody's file without a last newline."""
        beginning = json.dumps({"kind": self.KIND}).encode().removesuffix(b"}")
        return line.startswith(beginning) or beginning.startswith(line)

    def _check_header(self, path: Path, line: bytes, identity: Mapping[str, Any]) -> None:
        try:
            header = json.loads(line)
        except (ValueError, RecursionError):
            header = None
        if not isinstance(header, dict) or header.get("kind") != self.KIND:
            raise self._foreign(path)
        if header.get("format") != self.FORMAT:
            raise InputError(f"{path} has the format {header.get('format')}, expected {self.FORMAT}; {self.ELSEWHERE}")
        was, now = _flat({key: header.get(key) for key in identity}), _flat(identity)
        changed = [key for key in {**was, **now} if was.get(key) != now.get(key)]
        if changed:
            details = ", ".join(f"{key} was {was.get(key)!r} and is {now.get(key)!r}" for key in changed)
            raise InputError(
                f"{path} holds another {self.WORK}: {details}. "
                f"Repeat the {self.WORK} as it was to continue it, or {self.ELSEWHERE}"
            )

    def _foreign(self, path: Path) -> InputError:
        return InputError(f"{path} is not a file of {self.WORK} results; {self.ELSEWHERE}")

    def _append(self, entry: Mapping[str, Any]) -> None:
        if self._descriptor is None:
            return
        end = os.fstat(self._descriptor).st_size
        view = memoryview(_line(entry))
        try:
            while view:
                view = view[os.write(self._descriptor, view) :]
            os.fsync(self._descriptor)
        except OSError as error:
            with suppress(OSError):  # another thread's line must not be glued to half of this one
                os.ftruncate(self._descriptor, end)
            raise StoreError(
                f"cannot write to {self.path}: {error.strerror or error}; "
                f"make room and repeat the {self.WORK}: what is there is kept"
            ) from error


def _line(entry: Any) -> bytes:
    return json.dumps(entry).encode() + b"\n"


def _flat(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the leaves by dotted name, so that a difference deep down is named."""
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        flat |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
    return flat


def sync(path: Path) -> None:
    """Bring what was written to a file to the disk.

    Of a directory, the names in it, without which no new file is safe.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
