"""What every curriculum of a ladder has over two of them, with its noise.

The two are training on the originals alone, which says whether a curriculum helps, and `evoenv`, which says what half
of its reward is worth, or how it stands against making the same originals harder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evoenv.comparison.ladder_table import BASES, Basis, Reading, compared_at
from evoenv.comparison.plan import BASELINE, ComparisonPlan
from evoenv.comparison.table import AVERAGE
from evoenv.comparison.weighing import HOW_WIDE, Gain, weigh

ORIGINALS_ALONE = "fixed"
"""The same environments to begin with, and nothing else."""
THE_METHOD = "evoenv"
REFERENCES = {
    ORIGINALS_ALONE: f"Against `{ORIGINALS_ALONE}`, which has the originals alone",
    THE_METHOD: f"Against `{THE_METHOD}`: the ablations, and the others",
}
"""What the others are measured against, each with the head of its section."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One curriculum against another, on the same problems."""

    basis: Basis
    curriculum: str
    against: str
    seeds: tuple[int, int]
    """How many there are of the curriculum, and of the other."""
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
            "against": self.against,
            "seeds": list(self.seeds),
            **self.average.to_json(),
            "words": self.words,
            "by_suite": {suite: gain.to_json() for suite, gain in self.by_suite.items()},
        }


def differences_of(plan: ComparisonPlan, points: Mapping[tuple[str, int], Sequence[Reading]]) -> list[Difference]:
    """Compare every trained curriculum with each of `REFERENCES`, at equal responses and at equal tokens."""
    chosen = {
        basis: [reading for own in points.values() if (reading := compared_at(plan, basis, own)) is not None]
        for basis in BASES
    }
    found = []
    left_out = [BASELINE]
    for against in REFERENCES:
        left_out.append(against)
        for basis, readings in chosen.items():
            other = [reading.columns for reading in readings if reading.curriculum == against]
            for name in plan.curricula:
                own = [reading.columns for reading in readings if reading.curriculum == name]
                if own and other and name not in left_out:
                    seeds = (len(own), len(other))
                    found.append(Difference(basis, name, against, seeds, *weigh(plan, other, own)))
    return found


def differences_markdown(differences: Sequence[Difference]) -> str:
    """Write a section of the page for each that others are compared with; empty if there is nothing to compare."""
    explained = f"Differences of pass@1 in points on the same problems. {HOW_WIDE}."
    lines = []
    for against, head in REFERENCES.items():
        if table := differences_table(differences, against):
            lines += [f"## {head}", "", explained, "", *table, ""]
    return "\n".join(lines)


def differences_table(differences: Sequence[Difference], against: str) -> list[str]:
    """Write a row for every curriculum and basis that is compared with one; nothing if there are none."""
    own = [item for item in differences if item.against == against]
    if not own:
        return []
    columns = [AVERAGE, *own[0].by_suite]
    lines = [f"| curriculum | at equal | seeds | {' | '.join(columns)} | |", "|---" * (len(columns) + 4) + "|"]
    for item in own:
        cells = [item.curriculum, item.basis, " and ".join(map(str, item.seeds))]
        cells += [gain.words for gain in (item.average, *item.by_suite.values())]
        lines.append(f"| {' | '.join(cells)} | {item.words} |")
    return lines
