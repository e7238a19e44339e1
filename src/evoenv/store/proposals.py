"""What the generator proposed and what became of it: candidates through validation, review, calibration, novelty and
decision; and under r-zero questions, the votes on them and their fates."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from evoenv.ids import GeneratorRequestId
from evoenv.records import (
    Calibration,
    Candidate,
    Decision,
    Finding,
    Novelty,
    Question,
    QuestionDecision,
    Recomputation,
    Review,
    ValidationReport,
    Vote,
    environment_id,
)
from evoenv.store.journal import Journal
from evoenv.store.packing import pack_text, unpack_text


class Proposals(Journal):
    """The part of a run's store that holds what the generator proposed."""

    # ----------------------------------------------------------------- candidates

    def add_candidates(self, candidates: Iterable[Candidate]) -> None:
        """Keep where candidates come from, and their sources; their responses are stored already, as samples."""
        with self._database.transaction():
            for candidate in candidates:
                source_id = None if candidate.source is None else self.add_source(candidate.source)
                self._database.execute(
                    "INSERT OR IGNORE INTO candidates VALUES (?, ?, ?, ?, ?, ?, ?)",
                    (
                        candidate.id,
                        candidate.step,
                        candidate.group,
                        candidate.index,
                        str(GeneratorRequestId(candidate.step, candidate.group)),
                        source_id,
                        json.dumps(candidate.parents),
                    ),
                )

    def candidates(self, step: int) -> list[Candidate]:
        """Return the candidates of a step, by group and index."""
        rows = self._database.query(
            "SELECT c.grp, c.idx, s.text, e.source, c.parents FROM candidates c "
            "JOIN samples s ON s.request_id = c.request_id AND s.idx = c.idx "
            "LEFT JOIN sources e ON e.environment_id = c.environment_id WHERE c.step = ? ORDER BY c.grp, c.idx",
            (step,),
        )
        return [
            Candidate(
                step=step,
                group=group,
                index=index,
                response=unpack_text(text),
                source=None if source is None else unpack_text(source),
                parents=tuple(json.loads(parents)),
            )
            for group, index, text, source, parents in rows
        ]

    def count_candidates(self, before_step: int | None = None) -> int:
        """Count all candidates, or those of earlier steps than `before_step`; repairs of others do not count."""
        condition, values = ("1", ()) if before_step is None else ("c.step < ?", (before_step,))
        rows = self._database.query(
            f"SELECT count(*) FROM candidates c WHERE {condition} AND NOT EXISTS "
            "(SELECT 1 FROM requests q WHERE q.id = c.request_id AND q.purpose = 'repair')",
            values,
        )
        return int(rows[0][0])

    def repaired(self, step: int) -> dict[str, str]:
        """Find the candidates of a step that are repairs, each with the id of the candidate that it mends."""
        rows = self._database.query(
            "SELECT c.id, q.subject FROM requests q JOIN candidates c ON c.request_id = q.id "
            "WHERE q.step = ? AND q.purpose = 'repair' ORDER BY c.id",
            (step,),
        )
        return dict(rows)

    def add_source(self, source: str) -> str:
        """Keep a source once, however often it was written; return its environment id."""
        source_id = environment_id(source)
        self._database.execute("INSERT OR IGNORE INTO sources VALUES (?, ?)", (source_id, pack_text(source)))
        return source_id

    def source(self, environment_id: str) -> str | None:
        rows = self._database.query("SELECT source FROM sources WHERE environment_id = ?", (environment_id,))
        return unpack_text(rows[0][0]) if rows else None

    # ----------------------------------------------------------------- what became of them

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
        """Return the verdicts on a step's candidates, by candidate id."""
        return self._reports("step = ?", step)

    def report(self, candidate_id: str) -> ValidationReport | None:
        """Return the verdict on one candidate; None before it."""
        return self._reports("candidate_id = ?", candidate_id).get(candidate_id)

    def _reports(self, condition: str, value: int | str) -> dict[str, ValidationReport]:
        rows = self._database.query(
            "SELECT candidate_id, layer, findings, class_name, dialect, prompt_template, family, seconds, cpu_seconds, "
            f"sandbox FROM reports WHERE {condition} ORDER BY candidate_id",
            (value,),
        )
        return {
            candidate_id: ValidationReport(
                layer=layer,
                findings=tuple(Finding(*fields) for fields in json.loads(unpack_text(findings))),
                class_name=class_name,
                dialect=dialect,
                prompt_template=unpack_text(template),
                family=family,
                seconds=wall,
                cpu_seconds=cpu,
                sandbox=tuple(json.loads(sandbox)),
            )
            for candidate_id, layer, findings, class_name, dialect, template, family, wall, cpu, sandbox in rows
        }

    def add_reviews(self, step: int, reviews: Mapping[str, Sequence[Review]]) -> None:
        """Keep verdicts by candidate id; their texts are stored already, as samples of the review requests."""
        rows = [
            (candidate_id, index, step, review.verdict)
            for candidate_id, given in reviews.items()
            for index, review in enumerate(given)
        ]
        self._database.execute_many("INSERT INTO reviews VALUES (?, ?, ?, ?)", rows)

    def reviews(self, step: int) -> dict[str, tuple[Review, ...]]:
        """Return the reviews of a step, by candidate id."""
        rows = self._database.query(
            "SELECT r.candidate_id, r.verdict, s.text FROM reviews r "
            "LEFT JOIN requests q ON q.step = r.step AND q.purpose = 'review' AND q.subject = r.candidate_id "
            "LEFT JOIN samples s ON s.request_id = q.id AND s.idx = r.idx "
            "WHERE r.step = ? ORDER BY r.candidate_id, r.idx",
            (step,),
        )
        reviews: dict[str, tuple[Review, ...]] = {}
        for candidate_id, verdict, text in rows:
            review = Review(verdict, "" if text is None else unpack_text(text))
            reviews[candidate_id] = (*reviews.get(candidate_id, ()), review)
        return reviews

    def add_recomputations(self, step: int, recomputations: Mapping[str, Recomputation]) -> None:
        """Keep verdicts, shares and witnesses by candidate id; the programs are samples of their requests."""
        rows = [
            (candidate_id, step, item.verdict, item.right, msgspec.json.encode(item).decode())
            for candidate_id, item in recomputations.items()
        ]
        self._database.execute_many("INSERT INTO recomputations VALUES (?, ?, ?, ?, ?)", rows)

    def recomputations(self, step: int) -> dict[str, Recomputation]:
        """Return the recomputations of a step, by candidate id."""
        rows = self._database.query(
            "SELECT candidate_id, data FROM recomputations WHERE step = ? ORDER BY candidate_id", (step,)
        )
        return {candidate_id: msgspec.json.decode(data, type=Recomputation) for candidate_id, data in rows}

    def add_asymmetries(self, step: int, asymmetries: Mapping[str, float]) -> None:
        """Keep by how much programs do better than words, by candidate id."""
        rows = [(candidate_id, step, value) for candidate_id, value in asymmetries.items()]
        self._database.execute_many("INSERT INTO asymmetries VALUES (?, ?, ?)", rows)

    def asymmetries(self, step: int) -> dict[str, float]:
        """Return the asymmetries of a step, by candidate id."""
        return dict(
            self._database.query(
                "SELECT candidate_id, value FROM asymmetries WHERE step = ? ORDER BY candidate_id", (step,)
            )
        )

    def add_calibrations(self, step: int, calibrations: Mapping[str, Calibration]) -> None:
        rows = [
            (candidate_id, step, calibration.pass_rate, json.dumps(calibration.scores))
            for candidate_id, calibration in calibrations.items()
        ]
        self._database.execute_many("INSERT INTO calibrations VALUES (?, ?, ?, ?)", rows)

    def calibrations(self, step: int) -> dict[str, Calibration]:
        rows = self._database.query(
            "SELECT candidate_id, scores, pass_rate FROM calibrations WHERE step = ? ORDER BY candidate_id", (step,)
        )
        return {
            candidate_id: Calibration(tuple(json.loads(scores)), pass_rate) for candidate_id, scores, pass_rate in rows
        }

    def add_novelties(self, step: int, novelties: Mapping[str, Novelty]) -> None:
        rows = [
            (candidate_id, step, item.similarity, item.novelty, item.batch_similarity, item.nearest)
            for candidate_id, item in novelties.items()
        ]
        self._database.execute_many("INSERT INTO novelties VALUES (?, ?, ?, ?, ?, ?)", rows)

    def novelties(self, step: int) -> dict[str, Novelty]:
        rows = self._database.query(
            "SELECT candidate_id, similarity, novelty, batch_similarity, nearest FROM novelties WHERE step = ? "
            "ORDER BY candidate_id",
            (step,),
        )
        return {candidate_id: Novelty(*fields) for candidate_id, *fields in rows}

    def add_decisions(self, step: int, decisions: Iterable[Decision]) -> None:
        rows = [
            (
                item.candidate_id,
                step,
                item.layer,
                item.q_val,
                item.reward,
                int(item.admitted),
                item.reason,
                item.similarity_at_admission,
            )
            for item in decisions
        ]
        self._database.execute_many("INSERT INTO decisions VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)

    def decisions(self, step: int) -> list[Decision]:
        rows = self._database.query(
            "SELECT candidate_id, layer, q_val, reward, admitted, reason, similarity_at_admission FROM decisions "
            "WHERE step = ? ORDER BY candidate_id",
            (step,),
        )
        return [
            Decision(candidate_id, layer, q_val, reward, bool(admitted), reason, similarity)
            for candidate_id, layer, q_val, reward, admitted, reason, similarity in rows
        ]

    def generator_rewards(self, step: int) -> dict[str, float]:
        """Return the reward of every candidate of a step, or of every question under r-zero, by id."""
        rows = self._database.query(
            "SELECT candidate_id, reward FROM decisions WHERE step = ? UNION ALL "
            "SELECT question_id, reward FROM question_decisions WHERE step = ? ORDER BY 1",
            (step, step),
        )
        return dict(rows)

    # ----------------------------------------------------------------- questions (r-zero)

    def add_questions(self, questions: Iterable[Question]) -> None:
        """Keep where questions come from; the responses that hold them are stored already, as samples."""
        rows = [
            (item.id, item.step, item.group, item.index, str(GeneratorRequestId(item.step, item.group)))
            for item in questions
        ]
        with self._database.transaction():
            self._database.execute_many("INSERT OR IGNORE INTO questions VALUES (?, ?, ?, ?, ?)", rows)

    def questions(self, step: int) -> list[Question]:
        """Return the questions of a step, by group and index."""
        rows = self._database.query(
            "SELECT q.grp, q.idx, s.text FROM questions q "
            "JOIN samples s ON s.request_id = q.request_id AND s.idx = q.idx WHERE q.step = ? ORDER BY q.grp, q.idx",
            (step,),
        )
        return [Question(step, group, index, unpack_text(text)) for group, index, text in rows]

    def add_votes(self, step: int, votes: Mapping[str, Vote]) -> None:
        rows = [(question_id, step, vote.share, json.dumps(vote.agreeing)) for question_id, vote in votes.items()]
        self._database.execute_many("INSERT INTO votes VALUES (?, ?, ?, ?)", rows)

    def votes(self, step: int) -> dict[str, Vote]:
        """Return the votes of a step, by question id; a question that could not be asked has none."""
        rows = self._database.query(
            "SELECT question_id, agreeing, share FROM votes WHERE step = ? ORDER BY question_id", (step,)
        )
        return {question_id: Vote(tuple(json.loads(agreeing)), share) for question_id, agreeing, share in rows}

    def add_question_decisions(self, step: int, decisions: Iterable[QuestionDecision]) -> None:
        rows = [(item.question_id, step, item.reward, int(item.admitted), item.reason) for item in decisions]
        self._database.execute_many("INSERT INTO question_decisions VALUES (?, ?, ?, ?, ?)", rows)

    def question_decisions(self, step: int) -> list[QuestionDecision]:
        rows = self._database.query(
            "SELECT question_id, reward, admitted, reason FROM question_decisions WHERE step = ? ORDER BY question_id",
            (step,),
        )
        return [
            QuestionDecision(question_id, reward, bool(admitted), reason)
            for question_id, reward, admitted, reason in rows
        ]
