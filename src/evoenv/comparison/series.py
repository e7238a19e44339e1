"""What the experiment's figures are drawn from: one row per step of a run, as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evoenv.comparison.plan import SERIES, ComparisonPlan, is_done, run_directory
from evoenv.errors import StoreError
from evoenv.runs.environments import Instances, Oracle
from evoenv.runs.view import RunView
from evoenv.stages.budget import SAMPLED, TRAINED
from evoenv.store.store import Store

METRICS = {
    "train_score": "solver/score",
    "train_right": "solver/right",
    "zero_variance": "solver/zero_variance",
    "responses": "solver/responses",
    "generator_reward": "generator/reward",
    "pass_rate": "calibration/pass_rate",
    "pool": "pool/active",
    "prototypes": "pool/prototypes",
    "gamma": "novelty/gamma",
    "level": "levels/mean",
    "batches": "dapo/batches",
    "candidates": "funnel/candidates",
    "l1": "funnel/l1",
    "l2": "funnel/l2",
    "l3": "funnel/l3",
    "l4": "funnel/l4",
    "l5": "funnel/l5",
    "seconds": "time/step",
}
"""Columns that are metrics of the run."""
FUNNEL = ("candidates", "l1", "l2", "l3", "l4", "l5", "reviewed", "calibrated", "admitted")
ORACLE = tuple(
    f"{group}_{verdict}" for group in ("l5", "admitted") for verdict in ("consistent", "inconsistent", "unread")
)
ACCURACY = "accuracy:"
COLUMNS = ("step", "tokens", "tokens_sampled", "tokens_trained", *METRICS, *FUNNEL[6:], *ORACLE)
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """A finished run as it is compared."""

    curriculum: str
    seed: int
    rows: tuple[Row, ...]

    def column(self, name: str) -> list[tuple[Row, float]]:
        """Return the rows that have a value in this column, each with the value."""
        return [(row, float(row[name])) for row in self.rows if row.get(name) is not None]


def series(store: Store, instances: Instances | None = None) -> list[Row]:
    """Make one row per finished step, and row 0 for the model before training.

    `tokens` is all that was sampled and trained on up to and with the step. Evaluations cost nothing here: they are
    the same for all. With `instances`, sources that the oracle cannot read are also tried by running what their words
    say.
    """
    view, oracle = RunView(store), Oracle(instances)
    accuracy: dict[int, Row] = {}
    for evaluation in view.evaluations():
        accuracy.setdefault(evaluation.step, {})[ACCURACY + evaluation.suite] = evaluation.accuracy
    rows: list[Row] = [{"step": 0, "tokens": 0, **accuracy.get(0, {})}]
    spent = 0
    for step in range(1, store.last_step() + 1):
        metrics = store.metrics(step)
        sampled, trained = (round(metrics.get(name, 0.0)) for name in (SAMPLED, TRAINED))
        spent += sampled + trained
        row: Row = {"step": step, "tokens": spent, "tokens_sampled": sampled, "tokens_trained": trained}
        row |= {column: metrics[name] for column, name in METRICS.items() if name in metrics}
        if "candidates" in row:
            row |= dict(zip(FUNNEL[6:], view.funnel(step)[6:], strict=True)) | _verdicts(view, step, oracle)
        rows.append({**row, **accuracy.get(step, {})})
    return rows


def _verdicts(view: RunView, step: int, oracle: Oracle) -> Row:
    """Count what the oracle says of the candidates at L5 and of the admitted."""
    finalists = view.consistency(step, oracle)
    admitted = [entry.id for entry in view.admitted(step)]
    row: Row = {}
    for group, names in (("l5", list(finalists)), ("admitted", admitted)):
        for verdict, value in (("consistent", True), ("inconsistent", False), ("unread", None)):
            row[f"{group}_{verdict}"] = sum(finalists[name] is value for name in names)
    return row


# --------------------------------------------------------------------------- CSV


def to_csv(runs: Iterable[ComparedRun], *, named: bool = False) -> str:
    """Write the rows of one run or, if `named`, of several with curriculum and seed in front; missing is empty."""
    runs = list(runs)
    suites = sorted({key for run in runs for row in run.rows for key in row if key.startswith(ACCURACY)})
    columns = [*(("curriculum", "seed") if named else ()), *COLUMNS, *suites]
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, columns, lineterminator="\n")
    writer.writeheader()
    for run in runs:
        names = {"curriculum": run.curriculum, "seed": run.seed} if named else {}
        for row in run.rows:
            writer.writerow(names | {key: _shown(value) for key, value in row.items()})
    return buffer.getvalue()


def from_csv(curriculum: str, seed: int, text: str) -> ComparedRun:
    """Read the rows that `to_csv` wrote, numbers as numbers."""
    rows = []
    for row in csv.DictReader(io.StringIO(text)):
        rows.append({key: _number(value) for key, value in row.items() if value})
    return ComparedRun(curriculum, seed, tuple(rows))


def read_runs(directory: Path, plan: ComparisonPlan) -> list[ComparedRun]:
    """Read the series of every finished run, in the order of the plan."""
    runs = []
    for run in plan.runs:
        if is_done(directory, plan, run):
            path = run_directory(directory, run) / SERIES
            try:
                runs.append(from_csv(run.curriculum, run.seed, path.read_text(encoding="utf-8")))
            except (OSError, ValueError) as error:
                raise StoreError(
                    f"cannot read {path}: {error}; remove {run.name}'s done.json to write it again"
                ) from error
    return runs


def _shown(value: Any) -> Any:
    return f"{value:.6g}" if isinstance(value, float) and not value.is_integer() else value


def _number(text: str) -> float | int:
    try:
        return int(text)
    except ValueError:
        return float(text)
