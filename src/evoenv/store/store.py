"""The run store: the journal plus candidates with all that befell them, the pool, the novelty cache, metrics."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evoenv.admission.novelty import Matrix, NoveltyCache
from evoenv.pool.state import Difficulty, Member, PoolState
from evoenv.records import Calibration, Candidate, Decision, Finding, Novelty, Review, ValidationReport, environment_id
from evoenv.store.journal import STAGES, Asked, Journal, Purpose, SampleKey, Stage
from evoenv.store.packing import pack_text, pack_vector, unpack_text, unpack_vector

__all__ = ["STAGES", "Asked", "EnvironmentRecord", "Evaluation", "Purpose", "SampleKey", "Stage", "Store"]


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
class Evaluation:
    """Held-out accuracy of the policy as `step` left it (0: before training), over `n` problems."""

    step: int
    suite: str
    accuracy: float
    low: float
    high: float
    n: int


class Store(Journal):
    """One run's database. Made by `create`, `open` or `read`; write from one thread."""

    # ----------------------------------------------------------------- candidates

    def add_candidates(self, candidates: Iterable[Candidate], requests: Mapping[str, str]) -> None:
        """`requests` names, by candidate, the request whose sample the response is."""
        with self._database.transaction():
            for item in candidates:
                identity = None
                if item.source is not None:
                    identity = self.add_source(item.source)
                self._database.execute(
                    "INSERT OR IGNORE INTO candidates VALUES (?, ?, ?, ?, ?, ?, ?)",
                    (
                        item.id,
                        item.step,
                        item.group,
                        item.index,
                        requests[item.id],
                        identity,
                        json.dumps(item.parents),
                    ),
                )

    def candidates(self, step: int) -> list[Candidate]:
        """The candidates of a step, by group and index."""
        rows = self._database.query(
            "SELECT c.id, c.grp, c.idx, s.text, e.source, c.parents FROM candidates c "
            "JOIN samples s ON s.request_id = c.request_id AND s.idx = c.idx "
            "LEFT JOIN sources e ON e.environment_id = c.environment_id WHERE c.step = ? ORDER BY c.grp, c.idx",
            (step,),
        )
        return [
            Candidate(
                id=name,
                step=step,
                group=group,
                index=index,
                response=unpack_text(text),
                source=None if source is None else unpack_text(source),
                parents=tuple(json.loads(parents)),
            )
            for name, group, index, text, source, parents in rows
        ]

    def count_candidates(self, before_step: int | None = None) -> int:
        """All candidates, or those of earlier steps than `before_step`."""
        if before_step is None:
            return int(self._database.query("SELECT count(*) FROM candidates")[0][0])
        return int(self._database.query("SELECT count(*) FROM candidates WHERE step < ?", (before_step,))[0][0])

    def add_source(self, source: str) -> str:
        identity = environment_id(source)
        self._database.execute("INSERT OR IGNORE INTO sources VALUES (?, ?)", (identity, pack_text(source)))
        return identity

    def source(self, environment: str) -> str | None:
        rows = self._database.query("SELECT source FROM sources WHERE environment_id = ?", (environment,))
        return unpack_text(rows[0][0]) if rows else None

    # ----------------------------------------------------------------- what befell them

    def add_report(self, step: int, candidate_id: str, report: ValidationReport) -> None:
        """Keep a candidate's verdict, and the codes of its findings to look it up by."""
        findings = json.dumps([[finding.code, finding.message, finding.hint] for finding in report.findings])
        with self._database.transaction():
            written = self._database.execute(
                "INSERT OR IGNORE INTO reports VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    candidate_id,
                    step,
                    report.layer,
                    report.class_name,
                    report.dialect,
                    report.family,
                    report.seconds,
                    report.cpu_seconds,
                    json.dumps(report.sandbox),
                    pack_text(report.prompt_template),
                    pack_text(findings),
                ),
            ).rowcount
            if written:
                self._database.execute_many(
                    "INSERT OR IGNORE INTO finding_codes VALUES (?, ?, ?, ?)",
                    [(candidate_id, finding.code, step, at) for at, finding in enumerate(report.findings)],
                )

    def reports(self, step: int) -> dict[str, ValidationReport]:
        rows = self._database.query(
            "SELECT candidate_id, layer, findings, class_name, dialect, prompt_template, family, seconds, cpu_seconds, "
            "sandbox FROM reports WHERE step = ? ORDER BY candidate_id",
            (step,),
        )
        return {
            name: ValidationReport(
                layer=layer,
                findings=tuple(Finding(*fields) for fields in json.loads(unpack_text(findings))),
                class_name=class_name,
                dialect=dialect,
                prompt_template=unpack_text(template),
                family=family,
                seconds=seconds,
                cpu_seconds=cpu_seconds,
                sandbox=tuple(json.loads(sandbox)),
            )
            for name, layer, findings, class_name, dialect, template, family, seconds, cpu_seconds, sandbox in rows
        }

    def add_reviews(self, step: int, reviews: Mapping[str, Sequence[Review]]) -> None:
        """Verdicts; their texts are already there as samples of the request `<candidate>.review`."""
        rows = [
            (name, index, step, review.verdict) for name, found in reviews.items() for index, review in enumerate(found)
        ]
        self._database.execute_many("INSERT INTO reviews VALUES (?, ?, ?, ?)", rows)

    def reviews(self, step: int) -> dict[str, tuple[Review, ...]]:
        rows = self._database.query(
            "SELECT r.candidate_id, r.verdict, s.text FROM reviews r "
            "LEFT JOIN samples s ON s.request_id = r.candidate_id || '.review' AND s.idx = r.idx "
            "WHERE r.step = ? ORDER BY r.candidate_id, r.idx",
            (step,),
        )
        found: dict[str, tuple[Review, ...]] = {}
        for name, verdict, text in rows:
            found[name] = (*found.get(name, ()), Review(verdict, "" if text is None else unpack_text(text)))
        return found

    def add_calibrations(self, step: int, calibrations: Mapping[str, Calibration]) -> None:
        rows = [(name, step, item.pass_rate, json.dumps(item.scores)) for name, item in calibrations.items()]
        self._database.execute_many("INSERT INTO calibrations VALUES (?, ?, ?, ?)", rows)

    def calibrations(self, step: int) -> dict[str, Calibration]:
        rows = self._database.query(
            "SELECT candidate_id, scores, pass_rate FROM calibrations WHERE step = ? ORDER BY candidate_id", (step,)
        )
        return {name: Calibration(tuple(json.loads(scores)), pass_rate) for name, scores, pass_rate in rows}

    def add_novelties(self, step: int, novelties: Mapping[str, Novelty]) -> None:
        rows = [
            (name, step, item.similarity, item.novelty, item.batch_similarity, item.nearest)
            for name, item in novelties.items()
        ]
        self._database.execute_many("INSERT INTO novelties VALUES (?, ?, ?, ?, ?, ?)", rows)

    def novelties(self, step: int) -> dict[str, Novelty]:
        rows = self._database.query(
            "SELECT candidate_id, similarity, novelty, batch_similarity, nearest FROM novelties WHERE step = ? "
            "ORDER BY candidate_id",
            (step,),
        )
        return {name: Novelty(*fields) for name, *fields in rows}

    def add_decisions(self, step: int, decisions: Iterable[Decision]) -> None:
        rows = [
            (d.candidate_id, step, d.layer, d.q_val, d.reward, int(d.admitted), d.reason, d.similarity_at_admission)
            for d in decisions
        ]
        self._database.execute_many("INSERT INTO decisions VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)

    def decisions(self, step: int) -> list[Decision]:
        rows = self._database.query(
            "SELECT candidate_id, layer, q_val, reward, admitted, reason, similarity_at_admission FROM decisions "
            "WHERE step = ? ORDER BY candidate_id",
            (step,),
        )
        return [
            Decision(name, layer, q_val, reward, bool(admitted), reason, similarity)
            for name, layer, q_val, reward, admitted, reason, similarity in rows
        ]

    def layer_counts(self, step: int) -> dict[int, int]:
        """How many candidates of a step have come to which layer so far; cheap enough to be asked again and again."""
        return dict(self._database.query("SELECT layer, count(*) FROM reports WHERE step = ? GROUP BY layer", (step,)))

    def fate_counts(self, step: int) -> dict[str, int]:
        """How many candidates of a step met which fate."""
        rows = self._database.query("SELECT reason, count(*) FROM decisions WHERE step = ? GROUP BY reason", (step,))
        return dict(rows)

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
        """Every environment ever admitted, in order of admission."""
        rows = self._database.query(
            "SELECT id, name, original, active, candidate_id, admitted_step, retired_step, epochs, level, tags "
            "FROM environments ORDER BY position"
        )
        return [
            EnvironmentRecord(
                id=identity,
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
            for identity, name, original, active, candidate, admitted, retired, epochs, level, tags in rows
        ]

    def add_provenance(self, facts: Mapping[str, Mapping[str, Any]]) -> None:
        """What environments brought along from elsewhere, by id."""
        rows = [(name, pack_text(json.dumps(data))) for name, data in facts.items()]
        self._database.execute_many("INSERT OR REPLACE INTO provenance VALUES (?, ?)", rows)

    def provenance(self) -> dict[str, dict[str, Any]]:
        rows = self._database.query("SELECT environment_id, data FROM provenance")
        return {name: json.loads(unpack_text(data)) for name, data in rows}

    def pool(self) -> PoolState:
        """The pool as the last finished step left it."""
        rows = self._database.query(
            "SELECT id, original, active, epochs, level, level_right, level_total FROM environments ORDER BY position"
        )
        return PoolState(
            {
                name: Member(name, bool(original), bool(active), epochs, Difficulty(level, right, total))
                for name, original, active, epochs, level, right, total in rows
            }
        )

    def update_pool(self, step: int, before: PoolState, after: PoolState) -> None:
        """Write what changed between two states; members that are new must have been entered."""
        rows: list[tuple[Any, ...]] = []
        for name, member in after.members.items():
            old = before.members.get(name)
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
                        name,
                    )
                )
        self._database.execute_many(
            "UPDATE environments SET active = ?, epochs = ?, level = ?, level_right = ?, level_total = ?, "
            "retired_step = coalesce(?, retired_step) WHERE id = ?",
            rows,
        )

    def add_vectors(self, vectors: Mapping[str, tuple[Matrix, Matrix]]) -> None:
        """Prompt and code embeddings by environment id."""
        rows = [(name, pack_vector(prompt), pack_vector(code)) for name, (prompt, code) in vectors.items()]
        self._database.execute_many("INSERT OR IGNORE INTO vectors VALUES (?, ?, ?)", rows)

    def vectors(self, environments: Sequence[str]) -> tuple[Matrix, Matrix]:
        """Prompt and code embeddings as rows, in the order asked for."""
        found: dict[str, tuple[bytes, bytes]] = {}
        for start in range(0, len(environments), 500):
            part = environments[start : start + 500]
            marks = ",".join("?" * len(part))
            for name, prompt, code in self._database.query(
                f"SELECT environment_id, prompt, code FROM vectors WHERE environment_id IN ({marks})", part
            ):
                found[name] = (prompt, code)
        return _rows([found[name][0] for name in environments]), _rows([found[name][1] for name in environments])

    def without_vectors(self) -> list[str]:
        """Environments that were imported and not embedded yet, in order of admission."""
        rows = self._database.query(
            "SELECT id FROM environments WHERE id NOT IN (SELECT environment_id FROM vectors) ORDER BY position"
        )
        return [name for (name,) in rows]

    def novelty_cache(self, dimension: int) -> NoveltyCache:
        """C, rebuilt: the vectors of every environment ever admitted."""
        cursor = self._database.execute(
            "SELECT e.id, v.prompt, v.code FROM environments e JOIN vectors v ON v.environment_id = e.id "
            "ORDER BY e.position"
        )
        cache = NoveltyCache(dimension)
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
        """One metric over the steps that have it."""
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

    def evaluations(self) -> list[Evaluation]:
        """All held-out accuracies, by suite and step."""
        rows = self._database.query("SELECT step, suite, accuracy, low, high, n FROM evaluations ORDER BY suite, step")
        return [Evaluation(*row) for row in rows]

    def size(self) -> dict[str, int]:
        """Bytes of the database and candidates in it."""
        pages = int(self._database.query("PRAGMA page_count")[0][0])
        page = int(self._database.query("PRAGMA page_size")[0][0])
        return {"bytes": pages * page, "candidates": self.count_candidates()}


def _rows(blobs: Sequence[bytes]) -> Matrix:
    if not blobs:
        return np.zeros((0, 0), dtype=np.float32)
    return unpack_vector(b"".join(blobs)).reshape(len(blobs), -1)
