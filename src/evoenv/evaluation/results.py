"""The file of results: a header, then one line per sample, appended and synced as they come.

A kill at any moment loses at most the line being written; the next sitting cuts a torn last line off and goes on. A
file of another model, suite or sampling is refused: its numbers would mix two experiments. Only one process writes.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evoenv.errors import InputError, StoreError
from evoenv.evaluation.suite import BadProblem, Problem, Verdict
from evoenv.records import Sample

FORMAT = 1
HEADER = "evaluation"
KEPT_ANSWER = 1000
"""Characters of the answer that was cut out; the whole response follows it anyway."""


@dataclass(frozen=True, slots=True)
class SampleResult:
    """What is remembered of a scored sample; its text is in the file."""

    score: float
    format_ok: bool
    finish_reason: str
    failure: str | None = None


class Results:
    """Scored samples by (problem, index); on disk too where `path` is given. `add` may be called from any thread."""

    def __init__(self, path: Path | None, identity: Mapping[str, Any]) -> None:
        self.path = path
        self.samples: dict[tuple[str, int], SampleResult] = {}
        self._bad: set[str] = set()
        self._lock = threading.Lock()
        self._descriptor: int | None = None
        if path is not None:
            try:
                self._open(path, identity)
            except BaseException:
                self.close()
                raise

    def add(self, problem: Problem, sample: Sample, verdict: Verdict) -> None:
        result = SampleResult(verdict.score, verdict.format_ok, sample.finish_reason, verdict.failure)
        line = {
            "item": problem.id,
            "index": sample.index,
            "score": verdict.score,
            "format_ok": verdict.format_ok,
            "answer": verdict.answer and verdict.answer[:KEPT_ANSWER],
            "failure": verdict.failure,
            **({} if verdict.detail is None else {"detail": verdict.detail}),
            "finish": sample.finish_reason,
            "group": problem.group,
            **problem.facts,
            "response": sample.text,
        }
        with self._lock:
            self._append(line)
            self.samples[problem.id, sample.index] = result

    def add_bad(self, problem: BadProblem) -> None:
        with self._lock:
            if problem.id not in self._bad:
                self._append({"bad": problem.id, "group": problem.group, "reason": problem.reason})
                self._bad.add(problem.id)

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def __enter__(self) -> Results:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ----------------------------------------------------------------- the file

    def _open(self, path: Path, identity: Mapping[str, Any]) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise InputError(
                f"cannot write the results to {path}: {error.strerror or error}; choose another place"
            ) from error
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise StoreError(f"{path} is in use by another evaluation; wait for it, or choose another place") from error
        if self._read(path, identity):
            return
        self._append({"kind": HEADER, "format": FORMAT, **identity})
        _sync_directory(path.parent)

    def _read(self, path: Path, identity: Mapping[str, Any]) -> bool:
        """Take in what is there, without a torn last line. False where not even the header is."""
        begun = False
        for number, start, line in _lines(path):
            if not line.endswith(b"\n"):
                assert self._descriptor is not None
                os.ftruncate(self._descriptor, start)
                break
            try:
                entry = json.loads(line)
                if not begun:
                    _check_header(path, entry, identity)
                    begun = True
                elif "bad" in entry:
                    self._bad.add(str(entry["bad"]))
                else:
                    self.samples[str(entry["item"]), int(entry["index"])] = SampleResult(
                        float(entry["score"]), bool(entry["format_ok"]), str(entry["finish"]), entry["failure"]
                    )
            except (ValueError, KeyError, TypeError) as error:
                raise StoreError(
                    f"{path}:{number} is damaged ({type(error).__name__}: {error}); "
                    "remove that line to sample it again, or choose another place for the results"
                ) from error
        return begun

    def _append(self, entry: Mapping[str, Any]) -> None:
        if self._descriptor is None:
            return
        data = json.dumps(entry).encode() + b"\n"
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(self._descriptor, view) :]
            os.fsync(self._descriptor)
        except OSError as error:
            raise StoreError(
                f"cannot write to {self.path}: {error.strerror}; make room and evaluate again: what is there is kept"
            ) from error


def write_document(path: Path, document: Any) -> None:
    """One JSON document, whole or not at all."""
    write_lines(path, [document], indent=1)


def write_lines(path: Path, entries: Iterable[Any], *, indent: int | None = None) -> int:
    """JSON values, one after the other; written aside and renamed. How many there were."""
    aside = path.with_name(f".{path.name}.partial")
    count = 0
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with aside.open("w", encoding="utf-8") as stream:
            for entry in entries:
                stream.write(json.dumps(entry, indent=indent) + "\n")
                count += 1
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(aside, path)
    except OSError as error:
        raise StoreError(
            f"cannot write {path}: {error.strerror or error}; make room, or choose another place"
        ) from error
    finally:
        aside.unlink(missing_ok=True)
    return count


def _lines(path: Path) -> Iterator[tuple[int, int, bytes]]:
    """Number, offset and bytes of each line."""
    start = 0
    with path.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            yield number, start, line
            start += len(line)


def _check_header(path: Path, entry: Any, identity: Mapping[str, Any]) -> None:
    if not isinstance(entry, dict) or entry.get("kind") != HEADER:
        raise InputError(f"{path} is not a file of evaluation results; choose another place for them")
    if entry.get("format") != FORMAT:
        raise InputError(f"{path} has the format {entry.get('format')}, expected {FORMAT}; choose another place")
    wanted = json.loads(json.dumps(identity))
    was, now = _flat({key: entry.get(key) for key in wanted}), _flat(wanted)
    changed = [key for key in {**was, **now} if was.get(key) != now.get(key)]
    if changed:
        details = ", ".join(f"{key} was {was.get(key)!r} and is {now.get(key)!r}" for key in changed)
        raise InputError(
            f"{path} holds the results of another evaluation: {details}. "
            "Evaluate as before to continue it, or choose another place for the results"
        )


def _flat(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        flat |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
    return flat


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
