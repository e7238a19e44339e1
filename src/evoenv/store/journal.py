"""The run store: everything a run leaves behind, and where a stopped run continues.

A step is a sequence of named stages. Records that arrive one by one (samples, reports) are written as they
come; a stage's outcome and the mark that it is done are one transaction. After a kill the loop asks
`stage_done` and reads what is there: nothing is lost, nothing is done twice.

Checkpoints pair with the `updated` stage. The policy is saved (atomically, under the step's number) *before*
that stage is committed with the checkpoint's name in it, so a committed name always exists on disk, and a
checkpoint without a committed stage is a leftover to be ignored. If not every step has a checkpoint, the
rollouts since the last one are kept, and the updates are computed again from them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias, cast, get_args

from evoenv.errors import OlderRun, StoreError
from evoenv.records import Message, Request, Sample, Score
from evoenv.store.database import DATABASE_NAME, Database, RunLock
from evoenv.store.packing import pack_rollout, pack_text, text_holds, unpack_text
from evoenv.store.rollouts import StoredRollout, StoredRollouts, StoredSample
from evoenv.store.schema import SCHEMA_VERSION

Stage: TypeAlias = Literal[
    "generated", "validated", "reviewed", "calibrated", "decided", "solved", "updated", "rotated"
]
STAGES: tuple[Stage, ...] = get_args(Stage)
Purpose: TypeAlias = Literal["generate", "repair", "review", "recompute", "calibrate", "solve"]
SampleKey: TypeAlias = tuple[str, int]


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """A request as the store keeps it: what for, about which candidate or environment, at which instance."""

    request: Request
    purpose: Purpose
    subject: str | None = None
    seed: int | None = None
    difficulty: int | None = None


class Journal:
    """The part of a run's store that knows nothing of environments: stages, events, requests and samples."""

    def __init__(self, directory: Path, database: Database, lock: RunLock | None) -> None:
        self.directory = directory
        self._database = database
        self._lock = lock
        database.add_function("text_holds", text_holds)

    # ----------------------------------------------------------------- opening and closing

    @classmethod
    def create(cls, directory: Path, config: Mapping[str, Any], versions: Mapping[str, str]) -> Self:
        """Create a new run; refuse a directory that holds one."""
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"cannot make the run directory {directory}: {error.strerror}") from error
        store = cls._open_writable(directory)
        try:
            with store._database.transaction(durable=True):
                if store._database.query("SELECT 1 FROM meta LIMIT 1"):
                    raise StoreError(
                        f"{directory} already holds a run; continue it with --resume, or choose another --run"
                    )
                store.set_meta("config", config)
                store.set_meta("versions", versions)
                store.set_meta("created", time.time())
                store.add_event(None, "run-created", {"schema": SCHEMA_VERSION})
        except BaseException:
            store.close()
            raise
        return store

    @classmethod
    def open(cls, directory: Path) -> Self:
        """Open an existing run for writing."""
        cls._require(directory)
        store = cls._open_writable(directory)
        try:
            if not store._database.query("SELECT 1 FROM meta LIMIT 1"):
                raise StoreError(f"{directory} holds a run that never started; start it again without --resume")
        except BaseException:
            store.close()
            raise
        return store

    @classmethod
    def read(cls, directory: Path, *, migrate: bool = True) -> Self:
        """Open an existing run for reading, whether or not it is being written at the moment.

        The tables of an older version are brought up to date first; without `migrate` such a run is refused, and
        nothing is ever written.
        """
        path = cls._require(directory)
        database = Database(path, read_only=True)
        try:
            database.check_version()
            if database.version < SCHEMA_VERSION:
                if not migrate and not database.version:
                    raise StoreError(f"{directory} holds a run that has not begun yet")
                if not migrate:
                    raise OlderRun(
                        f"{directory} was written by an older EvoEnv (schema {database.version}; this one reads "
                        f"{SCHEMA_VERSION}) and this command only reads"
                    )
                database.close()
                cls._open_writable(directory).close()  # brings the tables up to date
                database = Database(path, read_only=True)
        except BaseException:
            database.close()
            raise
        return cls(directory, database, None)

    @classmethod
    def read_unchanged(cls, directory: Path, copies: Path) -> Self:
        """Open an existing run for reading without ever writing to it.

        Of a run of an older version a copy is made in the folder `copies` and brought up to date. The caller deletes
        the folder when the run is closed.
        """
        path = cls._require(directory)
        database = Database(path, read_only=True)
        try:
            database.check_version()
            if 0 < database.version < SCHEMA_VERSION:
                copy = copies / DATABASE_NAME
                database.copy_to(copy)
                database.close()
                migrated = Database(copy)
                try:
                    migrated.migrate(unpack_text)
                finally:
                    migrated.close()
                database = Database(copy, read_only=True)
        except BaseException:
            database.close()
            raise
        return cls(directory, database, None)

    @staticmethod
    def begun(directory: Path) -> bool:
        """Return whether a run was begun there; one killed while being created was not, and is simply created."""
        path = directory / DATABASE_NAME
        if not path.is_file() or not path.stat().st_size:
            return False
        database = Database(path, read_only=True)
        try:
            return database.version > 0 and bool(database.query("SELECT 1 FROM meta LIMIT 1"))
        finally:
            database.close()

    @staticmethod
    def _require(directory: Path) -> Path:
        path = directory / DATABASE_NAME
        if not path.is_file():
            raise StoreError(f"there is no run in {directory} ({DATABASE_NAME} is missing); check the path")
        return path

    @classmethod
    def _open_writable(cls, directory: Path) -> Self:
        lock = RunLock(directory)
        try:
            database = Database(directory / DATABASE_NAME)
            try:
                database.migrate(unpack_text)
            except BaseException:
                database.close()
                raise
        except BaseException:
            lock.release()
            raise
        return cls(directory, database, lock)

    def close(self) -> None:
        self._database.close()
        if self._lock is not None:
            self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def query(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a SELECT; `evoenv.runs` reads runs by it."""
        return self._database.query(sql, values)

    # ----------------------------------------------------------------- meta, events, stages

    def set_meta(self, key: str, value: Any) -> None:
        self._database.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, json.dumps(value)))

    def meta(self, key: str) -> Any:
        rows = self._database.query("SELECT value FROM meta WHERE key = ?", (key,))
        return json.loads(rows[0][0]) if rows else None

    def add_event(self, step: int | None, kind: str, data: Mapping[str, Any]) -> None:
        self._database.execute(
            "INSERT INTO events (at, step, kind, data) VALUES (?, ?, ?, ?)", (time.time(), step, kind, json.dumps(data))
        )

    def events(self, after: int = 0, limit: int = 10_000) -> list[tuple[int, float, int | None, str, dict[str, Any]]]:
        """Return (number, time, step, kind, data), oldest first, from the one after number `after`."""
        rows = self._database.query(
            "SELECT id, at, step, kind, data FROM events WHERE id > ? ORDER BY id LIMIT ?", (after, limit)
        )
        return [(number, at, step, kind, json.loads(data)) for number, at, step, kind, data in rows]

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self._database.transaction():
            yield

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Read the run as it is at this moment, however long that takes and whoever writes meanwhile."""
        with self._database.snapshot():
            yield

    @contextmanager
    def stage(self, step: int, stage: Stage, data: Mapping[str, Any] | None = None) -> Iterator[dict[str, Any]]:
        """Write a stage's outcome inside; leaving it commits the outcome and the mark together.

        What is put into the yielded dictionary is kept with the mark (`stage_data`).
        """
        kept: dict[str, Any] = dict(data or {})
        with self._database.transaction(durable=True):
            if self.stage_done(step, stage):
                raise StoreError(f"stage '{stage}' of step {step} is already done; it must not be done twice")
            yield kept
            self._database.execute(
                "INSERT INTO stages VALUES (?, ?, ?, ?)", (step, stage, time.time(), json.dumps(kept))
            )
            self.add_event(step, stage, kept)

    def stage_done(self, step: int, stage: Stage) -> bool:
        return bool(self._database.query("SELECT 1 FROM stages WHERE step = ? AND stage = ?", (step, stage)))

    def stage_data(self, step: int, stage: Stage) -> dict[str, Any]:
        rows = self._database.query("SELECT data FROM stages WHERE step = ? AND stage = ?", (step, stage))
        return cast(dict[str, Any], json.loads(rows[0][0])) if rows else {}

    def last_step(self) -> int:
        """Return the last step that is wholly done; 0 before the first."""
        return int(self._database.query("SELECT coalesce(max(step), 0) FROM stages WHERE stage = 'rotated'")[0][0])

    def last_checkpoint(self) -> tuple[int, str] | None:
        """Return the step and name of the newest checkpoint that a committed update vouches for."""
        rows = self._database.query(
            "SELECT step, json_extract(data, '$.checkpoint') FROM stages WHERE stage = 'updated' "
            "AND json_extract(data, '$.checkpoint') IS NOT NULL ORDER BY step DESC LIMIT 1"
        )
        return (int(rows[0][0]), str(rows[0][1])) if rows else None

    def checkpoints(self) -> list[str]:
        """Return the names of all checkpoints that committed updates vouch for, oldest first."""
        rows = self._database.query(
            "SELECT json_extract(data, '$.checkpoint') FROM stages WHERE stage = 'updated' "
            "AND json_extract(data, '$.checkpoint') IS NOT NULL ORDER BY step"
        )
        return [str(name) for (name,) in rows]

    def vouch(self, step: int, checkpoint: str) -> None:
        """Say that a checkpoint holds what the committed update of a step made."""
        self._database.execute(
            "UPDATE stages SET data = json_set(data, '$.checkpoint', ?) WHERE step = ? AND stage = 'updated'",
            (checkpoint, step),
        )

    def last_update(self) -> int:
        """Return the last step whose update is committed; 0 before the first."""
        return int(self._database.query("SELECT coalesce(max(step), 0) FROM stages WHERE stage = 'updated'")[0][0])

    # ----------------------------------------------------------------- requests and samples

    def add_requests(self, step: int, asked: Iterable[RequestRecord]) -> None:
        """Remember what is asked; asking the same again after a kill changes nothing."""
        with self._database.transaction():
            self._database.execute_many(
                "INSERT OR IGNORE INTO requests VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (
                        item.request.id,
                        step,
                        item.purpose,
                        item.request.count,
                        item.subject,
                        item.seed,
                        item.difficulty,
                        pack_text(json.dumps([[turn.speaker, turn.content] for turn in item.request.messages])),
                    )
                    for item in asked
                ],
            )

    def has_requests(self, step: int) -> bool:
        """Return whether anything was asked in a step."""
        return bool(self._database.query("SELECT 1 FROM requests WHERE step = ? LIMIT 1", (step,)))

    def requests(self, step: int, purpose: Purpose) -> dict[str, tuple[str | None, int | None, int | None]]:
        """Return subject, seed and difficulty of a step's requests, by id."""
        rows = self._database.query(
            "SELECT id, subject, seed, difficulty FROM requests WHERE step = ? AND purpose = ? ORDER BY id",
            (step, purpose),
        )
        return {request_id: (subject, seed, difficulty) for request_id, subject, seed, difficulty in rows}

    def request_messages(self, request_id: str) -> tuple[Message, ...]:
        rows = self._database.query("SELECT messages FROM requests WHERE id = ?", (request_id,))
        return tuple(Message(speaker, text) for speaker, text in json.loads(unpack_text(rows[0][0]))) if rows else ()

    def add_sample(self, step: int, sample: Sample) -> None:
        """Keep a sample the moment it arrives; one that is there already stays as it is."""
        key = (sample.request_id, sample.index, step)
        with self._database.transaction():
            self._database.execute(
                "INSERT OR IGNORE INTO samples (request_id, idx, step, finish_reason, tokens, text, version) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                (*key, sample.finish_reason, sample.tokens, pack_text(sample.text), sample.version),
            )
            if sample.rollout is not None:
                self._database.execute(
                    "INSERT OR IGNORE INTO rollouts VALUES (?, ?, ?, ?)", (*key, pack_rollout(sample.rollout))
                )

    def sample_keys(self, step: int) -> set[SampleKey]:
        """Return which samples of a step are kept, whatever for."""
        rows = self._database.query(
            "SELECT s.request_id, s.idx FROM requests q JOIN samples s ON s.request_id = q.id WHERE q.step = ?", (step,)
        )
        return {(request_id, index) for request_id, index in rows}

    def samples(self, step: int, purpose: Purpose, *, texts: bool = True) -> dict[SampleKey, Sample]:
        """Return the samples of a step for one purpose, with their rollouts while those are kept.

        A rollout is read when it is first looked at, and can be let go (`release`). Without `texts` those too stay in
        the store, and each is read whenever it is looked at.
        """
        rows = self._database.query(
            f"SELECT s.request_id, s.idx, {'s.text' if texts else 'NULL'}, s.finish_reason, s.tokens, s.version, r.idx "
            "FROM requests q JOIN samples s ON s.request_id = q.id "
            "LEFT JOIN rollouts r ON r.request_id = s.request_id AND r.idx = s.idx "
            "WHERE q.step = ? AND q.purpose = ? ORDER BY s.request_id, s.idx",
            (step, purpose),
        )
        samples: dict[SampleKey, Sample] = {}
        rollouts = StoredRollouts(self._database)
        for request_id, index, text, finish_reason, tokens, version, kept in rows:
            rollout = None if kept is None else StoredRollout(rollouts, request_id, index)
            samples[request_id, index] = (
                Sample(request_id, index, unpack_text(text), finish_reason, tokens, version, rollout)
                if texts
                else StoredSample(self._database, request_id, index, finish_reason, tokens, version, rollout)
            )
        return samples

    def tokens(self, step: int) -> dict[Purpose, int]:
        """Return the number of tokens sampled in a step, by purpose."""
        rows = self._database.query(
            "SELECT q.purpose, sum(s.tokens) FROM requests q JOIN samples s ON s.request_id = q.id "
            "WHERE q.step = ? GROUP BY q.purpose",
            (step,),
        )
        return {purpose: int(count) for purpose, count in rows}

    def add_scores(self, step: int, scores: Mapping[SampleKey, Score]) -> None:
        with self._database.transaction():
            self._database.execute_many(
                "INSERT OR IGNORE INTO scores VALUES (?, ?, ?, ?, ?, ?)",
                [
                    (request_id, index, step, score.value, int(score.format_ok), _storable(score.failure))
                    for (request_id, index), score in scores.items()
                ],
            )

    def scores(self, step: int, purpose: Purpose) -> dict[SampleKey, Score]:
        rows = self._database.query(
            "SELECT s.request_id, s.idx, s.value, s.format_ok, s.failure FROM requests q "
            "JOIN scores s ON s.request_id = q.id WHERE q.step = ? AND q.purpose = ? ORDER BY s.request_id, s.idx",
            (step, purpose),
        )
        return {(request, index): Score(value, bool(ok), failure) for request, index, value, ok, failure in rows}

    def replies(self, request_id: str) -> list[tuple[str, Score | None]]:
        """Return the replies to one request, in the order of the samples, with their scores if they were scored."""
        rows = self._database.query(
            "SELECT s.text, c.value, c.format_ok, c.failure FROM samples s "
            "LEFT JOIN scores c ON c.request_id = s.request_id AND c.idx = s.idx WHERE s.request_id = ? ORDER BY s.idx",
            (request_id,),
        )
        return [
            (unpack_text(text), None if value is None else Score(value, bool(ok), failure))
            for text, value, ok, failure in rows
        ]

    def drop_rollouts(self, up_to_step: int) -> None:
        """Forget token ids and log-probabilities that a checkpoint has made needless; the texts stay."""
        self._database.execute("DELETE FROM rollouts WHERE step <= ?", (up_to_step,))


def _storable(text: str | None) -> str | None:
    """Make a worker's text fit for SQLite: without lone surrogates."""
    return None if text is None else text.encode("utf-8", "replace").decode("utf-8")
