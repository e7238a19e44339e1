"""Files that outlive a kill: put in place whole, or appended line by line and taken up again."""

from __future__ import annotations

import json
import os
import shutil
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar, Self

from evoenv.errors import InputError, StoreError

# --------------------------------------------------------------------------- whole files


def replace_file(path: Path, pieces: Iterable[bytes]) -> None:
    """Written aside, synced and renamed; nothing is left behind on failure. An OSError is the caller's to explain."""
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


@contextmanager
def whole_directory(path: Path) -> Iterator[Path]:
    """A directory to fill that stands at `path` once it is complete, in place of what was there; never half of it."""
    aside = path.with_name(f".{path.name}.part")
    try:
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir(parents=True)
        yield aside
        for file in aside.rglob("*"):
            if file.is_file():
                sync(file)
        shutil.rmtree(path, ignore_errors=True)
        os.replace(aside, path)
        sync(path.parent)
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error}; free some space, or choose another place") from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)  # gone already where all went well


def write_bytes(path: Path, data: bytes) -> None:
    """One file, whole or not at all."""
    _write(path, [data])


def write_document(path: Path, document: Any) -> None:
    """One JSON document, whole or not at all."""
    _write(path, [json.dumps(document, indent=1).encode(), b"\n"])


def write_lines(path: Path, entries: Iterable[Any]) -> int:
    """JSON values, one to a line, whole or not at all. How many there were."""
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
        raise StoreError(f"cannot write {path}: {error.strerror or error}; check space and permissions") from error


# --------------------------------------------------------------------------- files that grow


class Ledger(ABC):
    """Results of a long piece of work, in memory and, where `path` is given, in a file that the next sitting takes up.

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
        """Take in what is there, without a torn last line. False where not even the header is."""
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
        """Whether a torn first line is of this kind, rather than somebody's file without a last newline."""
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
    """Leaves by dotted name, so that a difference deep down is named."""
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        flat |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
    return flat


def sync(path: Path) -> None:
    """What was written to a file is on the disk; of a directory, the names in it, without which no new file is safe."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
