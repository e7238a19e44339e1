"""A protocol's table: one row for a model, one column for each suite, and their mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from evoenv.evaluation.evaluate import Evaluation
from evoenv.evaluation.protocol import Protocol
from evoenv.evaluation.statistics import Estimate, average


@dataclass(frozen=True, slots=True)
class Scoreboard:
    """What one model came to on the suites of a protocol."""

    protocol: Protocol
    evaluations: Sequence[Evaluation]

    @property
    def average(self) -> Estimate:
        """The paper's Avg: the mean of pass@1 over suites, each with the same weight."""
        return average([evaluation.accuracy for evaluation in self.evaluations])

    def to_json(self) -> dict[str, Any]:
        return {
            "protocol": msgspec.to_builtins(self.protocol),
            "row": {
                evaluation.suite: evaluation.accuracy.to_json() if evaluation.items else None
                for evaluation in self.evaluations
            },
            "average": self.average.to_json() if self.average.n else None,
        }

    def to_markdown(self, label: str) -> str:
        """Write the row in percent, with 95% intervals, as a table to be put under others."""
        names = [evaluation.suite for evaluation in self.evaluations]
        cells = [percent(evaluation.accuracy) for evaluation in self.evaluations]
        rows = [
            ["model", *names, "Avg"],
            ["---"] * (len(names) + 2),
            [label, *cells, percent(self.average)],
        ]
        return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def percent(estimate: Estimate) -> str:
    """Write an estimate in points of a hundred: `58.8 (51.0–66.2)`."""
    if not estimate.n:
        return "–"
    return f"{100 * estimate.mean:.1f} ({100 * estimate.low:.1f}–{100 * estimate.high:.1f})"
