"""The file of results: a header, then one line per sample, appended and synced as they come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evoenv.durable import Ledger
from evoenv.evaluation.suite import BadProblem, Problem, Verdict
from evoenv.records import Sample

KEPT_ANSWER = 1000
"""Characters of the answer that was cut out; the whole response follows it anyway."""


@dataclass(frozen=True, slots=True)
class SampleResult:
    """What is remembered of a scored sample; its text is in the file."""

    score: float
    format_ok: bool
    finish_reason: str
    failure: str | None = None


class Results(Ledger):
    """Scored samples by (problem, index); on disk too if `path` is given. `add` may be called from any thread."""

    KIND, FORMAT, WORK, ELSEWHERE = "evaluation", 1, "evaluation", "choose another place for the results"

    def __init__(self, path: Path | None, identity: Mapping[str, Any]) -> None:
        self.samples: dict[tuple[str, int], SampleResult] = {}
        self._bad: set[str] = set()
        super().__init__(path, identity)

    def add(self, problem: Problem, sample: Sample, verdict: Verdict) -> None:
        self._add(
            {
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
        )

    def add_bad(self, problem: BadProblem) -> None:
        with self._lock:
            if problem.id not in self._bad:
                self._add({"bad": problem.id, "group": problem.group, "reason": problem.reason})

    def _take(self, entry: Any) -> None:
        if "bad" in entry:
            self._bad.add(str(entry["bad"]))
        else:
            self.samples[str(entry["item"]), int(entry["index"])] = SampleResult(
                float(entry["score"]), bool(entry["format_ok"]), str(entry["finish"]), entry["failure"]
            )
