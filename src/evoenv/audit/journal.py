"""The file of an audit: a header, then one line per verdict, appended and synced as they come.

A kill at any moment loses at most the line being written; the next sitting cuts a torn last line off and goes on. A
file of another set, model or prompt is refused: its numbers would mix two audits.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from evoenv.errors import InputError, StoreError
from evoenv.records import Review

KIND, FORMAT = "review-audit", 1


@dataclass(frozen=True, slots=True)
class Mechanical:
    """The layer that an environment reached, and what was found where it stopped."""

    layer: int
    codes: tuple[str, ...] = ()

    @property
    def rejects(self) -> bool:
        return self.layer < 5


class _Line(msgspec.Struct, frozen=True):
    item: str
    layer: int | None = None
    codes: tuple[str, ...] = ()
    index: int | None = None
    verdict: Any = None
    text: str = ""


class Journal:
    """Verdicts by environment; on disk too where `path` is given. May be written from any thread."""

    def __init__(self, path: Path | None, identity: Mapping[str, Any]) -> None:
        self.path = path
        self.mechanical: dict[str, Mechanical] = {}
        self.reviews: dict[tuple[str, int], Review] = {}
        self._lock = threading.Lock()
        self._descriptor: int | None = None
        if path is not None:
            try:
                self._open(path, json.loads(json.dumps(dict(identity))))
            except BaseException:
                self.close()
                raise

    def add_mechanical(self, name: str, verdict: Mechanical) -> None:
        with self._lock:
            self._append({"item": name, "layer": verdict.layer, "codes": verdict.codes})
            self.mechanical[name] = verdict

    def add_review(self, name: str, index: int, review: Review) -> None:
        with self._lock:
            self._append({"item": name, "index": index, "verdict": review.verdict, "text": review.text})
            self.reviews[name, index] = review

    def reviews_of(self, name: str, count: int) -> tuple[Review, ...]:
        return tuple(self.reviews[name, index] for index in range(count) if (name, index) in self.reviews)

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ----------------------------------------------------------------- the file

    def _open(self, path: Path, identity: dict[str, Any]) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise InputError(
                f"cannot write the results to {path}: {error.strerror or error}; choose another --results"
            ) from error
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise StoreError(f"{path} is in use by another audit; wait for it, or choose another --results") from error
        lines = path.read_bytes().splitlines(keepends=True)
        if lines and not lines[-1].endswith(b"\n"):
            os.ftruncate(self._descriptor, sum(map(len, lines[:-1])))
            lines.pop()
        if not lines:
            self._append({"kind": KIND, "format": FORMAT, **identity})
            return
        _check_header(path, lines[0], identity)
        for number, line in enumerate(lines[1:], 2):
            self._take(path, number, line)

    def _take(self, path: Path, number: int, line: bytes) -> None:
        try:
            entry = msgspec.json.decode(line, type=_Line)
            if entry.layer is not None:
                self.mechanical[entry.item] = Mechanical(entry.layer, entry.codes)
            elif entry.index is not None and entry.verdict in ("accept", "reject", "unparseable"):
                self.reviews[entry.item, entry.index] = Review(entry.verdict, entry.text)
            else:
                raise ValueError("neither a layer nor a verdict")
        except ValueError as error:  # msgspec's too
            raise StoreError(
                f"{path}:{number} is damaged ({error}); remove that line to ask again, or choose another --results"
            ) from error

    def _append(self, entry: Mapping[str, Any]) -> None:
        if self._descriptor is None:
            return
        view = memoryview(json.dumps(entry).encode() + b"\n")
        try:
            while view:
                view = view[os.write(self._descriptor, view) :]
            os.fsync(self._descriptor)
        except OSError as error:
            raise StoreError(
                f"cannot write to {self.path}: {error.strerror}; make room and audit again: what is there is kept"
            ) from error


def _check_header(path: Path, line: bytes, identity: Mapping[str, Any]) -> None:
    try:
        header = json.loads(line)
    except ValueError:
        header = None
    if not isinstance(header, dict) or header.get("kind") != KIND or header.get("format") != FORMAT:
        raise InputError(f"{path} is not a file of audit results; choose another --results")
    changed = [key for key in identity if header.get(key) != identity[key]]
    if changed:
        details = ", ".join(f"{key} was {header.get(key)!r} and is {identity[key]!r}" for key in changed)
        raise InputError(
            f"{path} holds another audit: {details}. Repeat the old command to continue it, or choose another --results"
        )
