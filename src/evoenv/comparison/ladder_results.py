"""The files that a ladder leaves beside those of every comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evoenv.comparison.ladder import Verdict, judge_upper_bound, read_start
from evoenv.comparison.ladder_differences import Difference, differences_markdown, differences_of
from evoenv.comparison.ladder_figures import write_ladder_figures
from evoenv.comparison.ladder_table import (
    BASES,
    Reading,
    Rung,
    evaluations_csv,
    not_compared,
    read_points,
    rungs_of,
    to_csv,
    to_markdown,
)
from evoenv.comparison.plan import ComparisonPlan, is_done, write_json
from evoenv.comparison.series import ComparedRun, read_runs
from evoenv.comparison.weighing import Measured
from evoenv.durable import write_bytes


@dataclass(frozen=True, slots=True)
class LadderResults:
    """All that was measured on a ladder so far."""

    verdict: Verdict | None
    start: Mapping[str, Measured]
    runs: Sequence[ComparedRun]
    points: Mapping[tuple[str, int], Sequence[Reading]]
    rungs: Sequence[Rung]
    differences: Sequence[Difference]

    def to_markdown(self, plan: ComparisonPlan) -> str:
        """Write the page: whether there is room, both tables, and what each has over the originals alone."""
        page = to_markdown(plan, self.verdict, self.start, self.rungs)
        return "\n".join(filter(None, [page, differences_markdown(self.differences)]))


def read_ladder(directory: Path, plan: ComparisonPlan) -> LadderResults:
    """Compute everything from the files of the runs."""
    verdict, start, runs = judge_upper_bound(directory, plan), read_start(directory, plan), read_runs(directory, plan)
    points = read_points(directory, plan, runs)
    rungs = [rung for basis in BASES for rung in rungs_of(plan, basis, start, points)]
    return LadderResults(verdict, start, runs, points, rungs, differences_of(plan, points))


def write_ladder(directory: Path, plan: ComparisonPlan) -> dict[str, Any]:
    """Write `ladder.md`, `ladder.csv`, `ladder.json`, `evaluations.csv` and two figures; return the JSON document."""
    results = read_ladder(directory, plan)
    document = {
        "model": plan.model,
        "steps": plan.steps,
        "equal_tokens": plan.equal_tokens,
        "upper_bound": None if results.verdict is None else results.verdict.to_json(),
        "rungs": [rung.to_json() for rung in results.rungs],
        "differences": [difference.to_json() for difference in results.differences],
        "missing": [run.name for run in plan.runs if not is_done(directory, plan, run)],
        "not_compared": not_compared(plan, results.points),
    }
    write_bytes(directory / "ladder.md", results.to_markdown(plan).encode())
    write_bytes(directory / "ladder.csv", to_csv(results.rungs).encode())
    write_bytes(directory / "evaluations.csv", evaluations_csv(results.points).encode())
    write_json(directory / "ladder.json", document)
    write_ladder_figures(directory, plan, results.start, results.points, results.rungs)
    return document
