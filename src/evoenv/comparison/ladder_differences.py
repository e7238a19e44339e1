"""What every curriculum of a ladder has over training on the originals alone, with its noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evoenv.comparison.ladder_table import BASES, Basis, Reading, compared_at
from evoenv.comparison.plan import BASELINE, ComparisonPlan
from evoenv.comparison.table import AVERAGE
from evoenv.comparison.weighing import HOW_WIDE, Gain, weigh

ORIGINALS_ALONE = "fixed"
"""What the others are measured against: the same environments to begin with, and nothing else."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One curriculum against `fixed`, on the same problems."""

    basis: Basis
    curriculum: str
    seeds: tuple[int, int]
    """How many there are of the curriculum, and of `fixed`."""
    average: Gain
    by_suite: dict[str, Gain]

    @property
    def words(self) -> str:
        """Say whether it is more than noise; one seed says nothing about how much seeds differ."""
        if min(self.seeds) < 2:
            return "one seed: open"
        size = abs(self.average.gain)
        if size <= self.average.here.half:
            return "within noise"
        other = self.average.half_elsewhere
        where = "" if other is not None and size > other else " on these environments"
        return ("better" if self.average.gain > 0 else "worse") + where

    def to_json(self) -> dict[str, Any]:
        return {
            "basis": self.basis,
            "curriculum": self.curriculum,
            "against": ORIGINALS_ALONE,
            "seeds": list(self.seeds),
            **self.average.to_json(),
            "words": self.words,
            "by_suite": {suite: gain.to_json() for suite, gain in self.by_suite.items()},
        }


def differences_of(plan: ComparisonPlan, points: Mapping[tuple[str, int], Sequence[Reading]]) -> list[Difference]:
    """Compare every trained curriculum with `fixed`, at equal responses and at equal tokens."""
    found = []
    for basis in BASES:
        chosen = [reading for own in points.values() if (reading := compared_at(plan, basis, own)) is not None]
        other = [reading.columns for reading in chosen if reading.curriculum == ORIGINALS_ALONE]
        for name in plan.curricula:
            own = [reading.columns for reading in chosen if reading.curriculum == name]
            if own and other and name not in (BASELINE, ORIGINALS_ALONE):
                found.append(Difference(basis, name, (len(own), len(other)), *weigh(plan, other, own)))
    return found


def differences_markdown(differences: Sequence[Difference]) -> str:
    """Write the section of the page; empty if there is nothing to compare."""
    if not differences:
        return ""
    explained = f"Differences of pass@1 in points on the same problems. {HOW_WIDE}."
    head = f"## Against `{ORIGINALS_ALONE}`, which has the originals alone"
    return "\n".join([head, "", explained, "", *differences_table(differences), ""])


def differences_table(differences: Sequence[Difference]) -> list[str]:
    """Write a row for every curriculum and basis."""
    columns = [AVERAGE, *(differences[0].by_suite if differences else ())]
    lines = [f"| curriculum | at equal | seeds | {' | '.join(columns)} | |", "|---" * (len(columns) + 4) + "|"]
    for item in differences:
        cells = [item.curriculum, item.basis, " and ".join(map(str, item.seeds))]
        cells += [gain.words for gain in (item.average, *item.by_suite.values())]
        lines.append(f"| {' | '.join(cells)} | {item.words} |")
    return lines
