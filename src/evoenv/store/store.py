"""The run store: the journal, what was proposed and what became of it, the pool, the novelty cache, metrics."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evoenv.admission.novelty import Matrix, NoveltyCache
from evoenv.pool.state import Difficulty, Member, PoolState
from evoenv.store.journal import STAGES, Purpose, RequestRecord, SampleKey, Stage
from evoenv.store.packing import pack_text, pack_vector, unpack_text, unpack_vector
from evoenv.store.proposals import Proposals

__all__ = ["STAGES", "EnvironmentRecord", "HeldOutAccuracy", "Purpose", "RequestRecord", "SampleKey", "Stage", "Store"]


@dataclass(frozen=True, slots=True)
class EnvironmentRecord:
    """One environment of the run, its source and vectors aside."""

    id: str
    name: str
    original: bool
    active: bool = True
    candidate_id: str | None = None
    admitted_step: int = 0
    retired_step: int | None = None
    epochs: int = 0
    level: int = 0
    tags: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class HeldOutAccuracy:
    """Held-out accuracy of the policy as `step` left it (0: before training), over `n` problems."""

    step: int
    suite: str
    accuracy: float
    low: float
    high: float
    n: int


class Store(Proposals):
    """One run's database. Made by `create`, `open` or `read`; write from one thread."""

    # ----------------------------------------------------------------- the pool and the novelty cache

    def add_environments(self, records: Iterable[EnvironmentRecord]) -> None:
        """Enter environments in order of admission; their sources and vectors are added separately."""
        self._database.execute_many(
            "INSERT INTO environments (id, name, candidate_id, original, active, epochs, level, level_right, "
            "level_total, admitted_step, retired_step, tags) VALUES (?, ?, ?, ?, ?, ?, ?, 0, 0, ?, ?, ?)",
            [
                (
                    item.id,
                    item.name,
                    item.candidate_id,
                    int(item.original),
                    int(item.active),
                    item.epochs,
                    item.level,
                    item.admitted_step,
                    item.retired_step,
                    json.dumps(sorted(item.tags)),
                )
                for item in records
            ],
        )

    def environments(self) -> list[EnvironmentRecord]:
        """Return every environment ever admitted, in order of admission."""
        rows = self._database.query(
            "SELECT id, name, original, active, candidate_id, admitted_step, retired_step, epochs, level, tags "
            "FROM environments ORDER BY position"
        )
        return [
            EnvironmentRecord(
                id=environment_id,
                name=name,
                original=bool(original),
                active=bool(active),
                candidate_id=candidate,
                admitted_step=admitted,
                retired_step=retired,
                epochs=epochs,
                level=level,
                tags=frozenset(json.loads(tags)),
            )
            for environment_id, name, original, active, candidate, admitted, retired, epochs, level, tags in rows
        ]

    def add_provenance(self, facts: Mapping[str, Mapping[str, Any]]) -> None:
        """Keep what environments brought along from elsewhere, by id."""
        rows = [(environment_id, pack_text(json.dumps(data))) for environment_id, data in facts.items()]
        self._database.execute_many("INSERT OR REPLACE INTO provenance VALUES (?, ?)", rows)

    def provenance(self) -> dict[str, dict[str, Any]]:
        rows = self._database.query("SELECT environment_id, data FROM provenance")
        return {environment_id: json.loads(unpack_text(data)) for environment_id, data in rows}

    def pool(self) -> PoolState:
        """Return the pool as the last finished step left it."""
        rows = self._database.query(
            "SELECT id, original, active, epochs, level, level_right, level_total FROM environments ORDER BY position"
        )
        return PoolState(
            {
                member_id: Member(member_id, bool(original), bool(active), epochs, Difficulty(level, right, total))
                for member_id, original, active, epochs, level, right, total in rows
            }
        )

    def update_pool(self, step: int, before: PoolState, after: PoolState) -> None:
        """Write what changed between two states; members that are new must have been entered."""
        rows: list[tuple[Any, ...]] = []
        for environment_id, member in after.members.items():
            old = before.members.get(environment_id)
            if old != member:
                level = member.difficulty
                left = (old is None or old.active) and not member.active
                rows.append(
                    (
                        int(member.active),
                        member.epochs,
                        level.level,
                        level.right,
                        level.total,
                        step if left else None,
                        environment_id,
                    )
                )
        self._database.execute_many(
            "UPDATE environments SET active = ?, epochs = ?, level = ?, level_right = ?, level_total = ?, "
            "retired_step = coalesce(?, retired_step) WHERE id = ?",
            rows,
        )

    def add_vectors(self, vectors: Mapping[str, tuple[Matrix, Matrix]]) -> None:
        """Keep prompt and code embeddings by environment id."""
        rows = [
            (environment_id, pack_vector(prompt), pack_vector(code))
            for environment_id, (prompt, code) in vectors.items()
        ]
        self._database.execute_many("INSERT OR IGNORE INTO vectors VALUES (?, ?, ?)", rows)

    def vectors(self, environment_ids: Sequence[str]) -> tuple[Matrix, Matrix]:
        """Return prompt and code embeddings as rows, in the order asked for."""
        packed: dict[str, tuple[bytes, bytes]] = {}
        for start in range(0, len(environment_ids), 500):
            part = environment_ids[start : start + 500]
            marks = ",".join("?" * len(part))
            for environment_id, prompt, code in self._database.query(
                f"SELECT environment_id, prompt, code FROM vectors WHERE environment_id IN ({marks})", part
            ):
                packed[environment_id] = (prompt, code)
        ordered = [packed[environment_id] for environment_id in environment_ids]
        return _rows([prompt for prompt, _ in ordered]), _rows([code for _, code in ordered])

    def without_vectors(self) -> list[str]:
        """Return the environments that were imported and not embedded yet, in order of admission."""
        rows = self._database.query(
            "SELECT id FROM environments WHERE id NOT IN (SELECT environment_id FROM vectors) ORDER BY position"
        )
        return [environment_id for (environment_id,) in rows]

    def fill(self, cache: NoveltyCache) -> NoveltyCache:
        """Add the vectors of every environment ever admitted, in the order of their admission."""
        cursor = self._database.execute(
            "SELECT e.id, v.prompt, v.code FROM environments e JOIN vectors v ON v.environment_id = e.id "
            "ORDER BY e.position"
        )
        while rows := cursor.fetchmany(4096):
            cache.add([row[0] for row in rows], _rows([row[1] for row in rows]), _rows([row[2] for row in rows]))
        return cache

    # ----------------------------------------------------------------- metrics

    def add_metrics(self, step: int, metrics: Mapping[str, float]) -> None:
        with self._database.transaction():
            self._database.execute_many(
                "INSERT OR REPLACE INTO metrics VALUES (?, ?, ?)",
                [(step, name, float(value)) for name, value in metrics.items()],
            )

    def metrics(self, step: int) -> dict[str, float]:
        rows = self._database.query("SELECT name, value FROM metrics WHERE step = ? ORDER BY name", (step,))
        return {name: float("nan") if value is None else value for name, value in rows}

    def metric(self, name: str) -> list[tuple[int, float]]:
        """Return one metric over the steps that have it."""
        return [
            (step, value)
            for step, value in self._database.query(
                "SELECT step, value FROM metrics WHERE name = ? AND value IS NOT NULL ORDER BY step", (name,)
            )
        ]

    # ----------------------------------------------------------------- evaluations

    def record_evaluation(self, step: int, suite: str, accuracy: float, low: float, high: float, n: int) -> None:
        """Keep a held-out accuracy with its interval; evaluated again, the newest counts and the log has both."""
        if not (0.0 <= low <= accuracy <= high <= 1.0):
            raise ValueError(f"an evaluation needs 0 ≤ low ≤ accuracy ≤ high ≤ 1, got {low}, {accuracy}, {high}")
        with self._database.transaction():
            self._database.execute(
                "INSERT OR REPLACE INTO evaluations VALUES (?, ?, ?, ?, ?, ?, ?)",
                (step, suite, accuracy, low, high, n, time.time()),
            )
            self.add_event(step, "evaluated", {"suite": suite, "accuracy": accuracy, "low": low, "high": high, "n": n})

    def evaluations(self) -> list[HeldOutAccuracy]:
        """Return all held-out accuracies, by suite and step."""
        rows = self._database.query("SELECT step, suite, accuracy, low, high, n FROM evaluations ORDER BY suite, step")
        return [HeldOutAccuracy(*row) for row in rows]

    def size(self) -> dict[str, int]:
        """Return the bytes of the database and the number of candidates in it."""
        pages = int(self._database.query("PRAGMA page_count")[0][0])
        page = int(self._database.query("PRAGMA page_size")[0][0])
        return {"bytes": pages * page, "candidates": self.count_candidates()}


def _rows(blobs: Sequence[bytes]) -> Matrix:
    if not blobs:
        return np.zeros((0, 0), dtype=np.float32)
    return unpack_vector(b"".join(blobs)).reshape(len(blobs), -1)
