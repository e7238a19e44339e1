"""What the experiment's figures are drawn from: one row per step of a run, as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evoenv.corpus.read.consistency import agrees, read_environment
from evoenv.records import Instance, derive_seed, environment_id
from evoenv.sandbox.guest.codec import decode
from evoenv.stages.budget import SAMPLED, TRAINED
from evoenv.store.store import Store

METRICS = {
    "train_score": "solver/score",
    "train_right": "solver/right",
    "zero_variance": "solver/zero_variance",
    "generator_reward": "generator/reward",
    "pass_rate": "calibration/pass_rate",
    "pool": "pool/active",
    "prototypes": "pool/prototypes",
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
_PROBED = tuple((seed, level) for level in (0, 1, 3) for seed in range(8))
"""Instances on which the words of a source are tried where its code cannot be read."""

Row = dict[str, Any]
Instances = Callable[[str, Sequence[int], int], Sequence[Instance | None]]
"""(source, seeds, difficulty) -> instances."""


@dataclass(frozen=True, slots=True)
class Run:
    """A finished run as it is compared."""

    curriculum: str
    seed: int
    rows: tuple[Row, ...]

    def column(self, name: str) -> list[tuple[Row, float]]:
        """The rows that have a value, with it."""
        return [(row, float(row[name])) for row in self.rows if row.get(name) is not None]


def series(store: Store, instances: Instances | None = None) -> list[Row]:
    """One row per finished step, and row 0 for the model before training.

    `tokens` is all that was sampled and trained on up to and with the step. Evaluations cost nothing here: they are
    the same for all. With `instances`, sources that the oracle cannot read are also tried by running what their words
    say.
    """
    oracle = _Oracle(instances)
    accuracy: dict[int, Row] = {}
    for found in store.evaluations():
        accuracy.setdefault(found.step, {})[ACCURACY + found.suite] = found.accuracy
    rows: list[Row] = [{"step": 0, "tokens": 0, **accuracy.get(0, {})}]
    spent = 0
    for step in range(1, store.last_step() + 1):
        metrics = store.metrics(step)
        sampled, trained = (round(metrics.get(name, 0.0)) for name in (SAMPLED, TRAINED))
        spent += sampled + trained
        row: Row = {"step": step, "tokens": spent, "tokens_sampled": sampled, "tokens_trained": trained}
        row |= {column: metrics[name] for column, name in METRICS.items() if name in metrics}
        if "candidates" in row:
            row |= _fates(store, step) | oracle.verdicts(store, step)
        rows.append({**row, **accuracy.get(step, {})})
    return rows


def _fates(store: Store, step: int) -> Row:
    fates = store.fate_counts(step)
    reviewed = sum(fates.values()) - fates.get("layer", 0) - fates.get("review", 0)
    calibrated = reviewed - fates.get("too-hard", 0) - fates.get("too-easy", 0)
    return {"reviewed": reviewed, "calibrated": calibrated, "admitted": fates.get("admitted", 0)}


class _Oracle:
    """Whether prompts ask for what the code computes; each source is looked at once."""

    def __init__(self, instances: Instances | None) -> None:
        self._instances = instances
        self._known: dict[str, bool | None] = {}

    def verdicts(self, store: Store, step: int) -> Row:
        reports = store.reports(step)
        finalists = {item.id: item.source or "" for item in store.candidates(step) if reports[item.id].passed}
        admitted = {item.candidate_id for item in store.decisions(step) if item.admitted}
        row: Row = {}
        for group, chosen in (("l5", finalists), ("admitted", {name: finalists[name] for name in admitted})):
            found = [self._consistent(source) for source in chosen.values()]
            for verdict, value in (("consistent", True), ("inconsistent", False), ("unread", None)):
                row[f"{group}_{verdict}"] = sum(item is value for item in found)
        return row

    def _consistent(self, source: str) -> bool | None:
        name = environment_id(source)
        if name not in self._known:
            verdict = read_environment(source).consistent
            if verdict is None and self._instances is not None:
                verdict = agrees(source, self._drawn(name, source))
            self._known[name] = verdict
        return self._known[name]

    def _drawn(self, name: str, source: str) -> Iterable[tuple[Mapping[str, Any], Any]]:
        assert self._instances is not None
        for level in sorted({level for _, level in _PROBED}):
            seeds = [derive_seed("oracle", name, seed, level) for seed, at in _PROBED if at == level]
            for instance in self._instances(source, seeds, level):
                if instance is not None:
                    latent = decode(instance.latent)
                    if isinstance(latent, Mapping):
                        yield latent, decode(instance.reference)


# --------------------------------------------------------------------------- CSV


def to_csv(runs: Iterable[Run], *, named: bool = False) -> str:
    """Rows of one run or, `named`, of several with curriculum and seed in front; empty where there is no value."""
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


def from_csv(curriculum: str, seed: int, text: str) -> Run:
    """The rows that `to_csv` wrote, numbers as numbers."""
    rows = []
    for row in csv.DictReader(io.StringIO(text)):
        rows.append({key: _number(value) for key, value in row.items() if value})
    return Run(curriculum, seed, tuple(rows))


def _shown(value: Any) -> Any:
    return f"{value:.6g}" if isinstance(value, float) and not value.is_integer() else value


def _number(text: str) -> float | int:
    try:
        return int(text)
    except ValueError:
        return float(text)
