"""The paper's table: how far reviews, the mechanical checks, and both together agree with the labels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from evoenv.admission.review import Rule, review_passes
from evoenv.records import Recomputation, Review
from evoenv.review_audit.agreement import Agreement, tally
from evoenv.review_audit.journal import Cost, Mechanical, VerdictLedger
from evoenv.review_audit.labels import LabelledSet

Checks = Literal[
    "mechanical",
    "review",
    "both",
    "recomputation",
    "mechanical and recomputation",
    "all",
    "always sound",
    "always buggy",
]
RecomputationRule = Literal["confirmed", "not contradicted"]
"""What a recomputation must say for an environment to pass."""
RECOMPUTATION_RULES: tuple[RecomputationRule, ...] = ("confirmed", "not contradicted")
RULES: tuple[Rule, ...] = ("single", "majority", "any-reject", "all-reject")
DEPLOYED: Rule = "any-reject"


@dataclass(frozen=True, slots=True)
class TableRow:
    """One way to decide, and its agreement with the labels."""

    checks: Checks
    rule: Rule | RecomputationRule | None
    agreement: Agreement
    unparsed: int = 0
    """Of the reviews that this rule reads, those without a verdict; they count as rejects. Of recomputations, those
    that are unconfirmed."""
    read: int = 0

    def to_json(self) -> dict[str, Any]:
        found = self.agreement
        return {
            "checks": self.checks,
            "rule": self.rule,
            "accuracy": found.accuracy,
            "precision": found.precision,
            "recall": found.recall,
            "f1": found.f1,
            "f1_interval": list(found.f1_interval),
            "true_positives": found.true_positives,
            "false_positives": found.false_positives,
            "true_negatives": found.true_negatives,
            "false_negatives": found.false_negatives,
            "unparsed": self.unparsed,
            "reviews_read": self.read,
        }


@dataclass(frozen=True, slots=True)
class KindRow:
    """Of the environments with one kind of defect (or none), how many each check refuses."""

    kind: str
    count: int
    mechanical: int
    review: int | None
    both: int | None
    recomputation: int | None = None
    """Not confirmed."""


@dataclass(frozen=True, slots=True)
class Audit:
    labelled: LabelledSet
    mechanical: dict[str, Mechanical]
    reviews: dict[str, tuple[Review, ...]]
    rows: tuple[TableRow, ...]
    kinds: tuple[KindRow, ...]
    recomputations: Mapping[str, Recomputation] = field(default_factory=dict)
    costs: Mapping[str, Cost] = field(default_factory=dict)
    """Tokens spent in all, by `reading` and `recomputing`."""

    @property
    def baselines(self) -> tuple[TableRow, TableRow]:
        """What it takes to beat: to call everything sound, and to call everything buggy."""
        labels = self.labelled.labels.values()
        return (
            TableRow("always sound", None, tally((buggy, False) for buggy in labels)),
            TableRow("always buggy", None, tally((buggy, True) for buggy in labels)),
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "set": self.labelled.name,
            "sound": sum(not item.buggy for item in self.labelled.items),
            "buggy": sum(item.buggy for item in self.labelled.items),
            "table": [row.to_json() for row in self.rows],
            "baselines": [row.to_json() for row in self.baselines],
            "kinds": [
                {"kind": row.kind, "count": row.count, "mechanical": row.mechanical, "review": row.review,
                 "both": row.both, "recomputation": row.recomputation}
                for row in self.kinds
            ],
            "costs": {
                name: {"prompt_tokens": cost.prompt, "sampled_tokens": cost.sampled}
                for name, cost in self.costs.items()
            },
            "items": [
                {
                    "name": item.name,
                    "label": "buggy" if item.buggy else "sound",
                    "kind": item.kind,
                    "note": item.note,
                    "layer": self.mechanical[item.name].layer,
                    "findings": list(self.mechanical[item.name].codes),
                    "verdicts": [review.verdict for review in self.reviews.get(item.name, ())],
                    **_recomputation_json(self.recomputations.get(item.name)),
                }
                for item in self.labelled.items
            ],
        }  # fmt: skip


def _recomputation_json(found: Recomputation | None) -> dict[str, Any]:
    return {} if found is None else {"recomputation": msgspec.to_builtins(found)}


def summarise(labelled: LabelledSet, kept: VerdictLedger, *, reviews: int) -> Audit:
    """Make the table from what was found; the mechanical row alone without reviews (`reviews` is 0) and programs."""
    said = {item.name: kept.reviews_of(item.name, reviews) for item in labelled.items} if reviews else {}
    labels = labelled.labels

    def agreement(rejects: dict[str, bool]) -> Agreement:
        return tally((buggy, rejects[name]) for name, buggy in labels.items())

    mechanical = {name: kept.mechanical[name].rejects for name in labels}
    rows = [TableRow("mechanical", None, agreement(mechanical))]
    refused: dict[Rule, dict[str, bool]] = {
        rule: {name: not review_passes(said[name], rule) for name in labels} for rule in RULES if said
    }
    for rule, rejects in refused.items():
        rows.append(TableRow("review", rule, agreement(rejects), *_unparsed(said.values(), rule)))
    for rule, rejects in refused.items():
        both = {name: mechanical[name] or rejects[name] for name in labels}
        rows.append(TableRow("both", rule, agreement(both), *_unparsed(said.values(), rule)))
    recomputed = {name: kept.recomputations[name] for name in labels if name in kept.recomputations}
    if len(recomputed) == len(labels) and labels:
        rows += _recomputation_rows(recomputed, mechanical, refused.get(DEPLOYED), agreement)
    else:
        recomputed = {}
    unconfirmed = {name: item.verdict != "confirmed" for name, item in recomputed.items()}
    kinds = _kinds(labelled, mechanical, refused.get(DEPLOYED), unconfirmed)
    costs = {"reading": kept.review_cost} if said else {}
    costs |= {"recomputing": kept.recomputation_cost} if recomputed else {}
    layers = {name: kept.mechanical[name] for name in labels}
    return Audit(labelled, layers, said, tuple(rows), kinds, recomputed, costs)


def _recomputation_rows(
    recomputed: Mapping[str, Recomputation],
    mechanical: Mapping[str, bool],
    reading: Mapping[str, bool] | None,
    agreement: Callable[[dict[str, bool]], Agreement],
) -> list[TableRow]:
    """Make the rows of recomputation alone, with the mechanical checks, and with reading as well if there is any.

    All together is what a run with `review.kind = "both"` decides: reading accepts and recomputing does not contradict.
    """
    counts = sum(item.verdict == "unconfirmed" for item in recomputed.values()), len(recomputed)
    rejects: dict[RecomputationRule, dict[str, bool]] = {
        "confirmed": {name: item.verdict != "confirmed" for name, item in recomputed.items()},
        "not contradicted": {name: item.verdict == "contradicted" for name, item in recomputed.items()},
    }
    rows = [TableRow("recomputation", rule, agreement(rejects[rule]), *counts) for rule in RECOMPUTATION_RULES]
    for rule in RECOMPUTATION_RULES:
        together = {name: mechanical[name] or refused for name, refused in rejects[rule].items()}
        rows.append(TableRow("mechanical and recomputation", rule, agreement(together), *counts))
    if reading is not None:
        contradicted = rejects["not contradicted"]
        every = {name: mechanical[name] or reading[name] or contradicted[name] for name in recomputed}
        rows.append(TableRow("all", "not contradicted", agreement(every), *counts))
    return rows


def _unparsed(said: Iterable[Sequence[Review]], rule: Rule) -> tuple[int, int]:
    read: list[Review] = [review for reviews in said for review in (reviews[:1] if rule == "single" else reviews)]
    return sum(review.verdict == "unparseable" for review in read), len(read)


def _kinds(
    labelled: LabelledSet,
    mechanical: dict[str, bool],
    review: dict[str, bool] | None,
    unconfirmed: Mapping[str, bool],
) -> tuple[KindRow, ...]:
    """Count defects by name, then the sound ones, whose refusals are false alarms."""
    names: dict[str, list[str]] = {}
    for item in sorted(labelled.items, key=lambda item: (not item.buggy, item.kind)):
        names.setdefault(item.kind or "unnamed" if item.buggy else "sound", []).append(item.name)
    return tuple(
        KindRow(
            kind,
            len(members),
            sum(mechanical[name] for name in members),
            None if review is None else sum(review[name] for name in members),
            None if review is None else sum(mechanical[name] or review[name] for name in members),
            sum(unconfirmed[name] for name in members) if unconfirmed else None,
        )
        for kind, members in names.items()
    )


def table_text(rows: Sequence[TableRow]) -> list[list[str]]:
    """Write the cells as they are shown: percentages, and the confusion in the paper's order."""
    words = {
        "mechanical": ("L1-L5", ""),
        "review": ("review", ""),
        "both": ("both", ""),
        "recomputation": ("recomputing", ""),
        "mechanical and recomputation": ("L1-L5, recomp.", ""),
        "all": ("all", ""),
        "always sound": ("always", "sound"),
        "always buggy": ("always", "buggy"),
    }
    rules = {"single": "K = 1"}
    lines = []
    for row in rows:
        found = row.agreement
        counts = (found.true_positives, found.false_positives, found.true_negatives, found.false_negatives)
        lines.append(
            [
                words[row.checks][0],
                rules.get(row.rule, row.rule) if row.rule else words[row.checks][1],
                *(f"{100 * value:.1f}%" for value in (found.accuracy, found.precision, found.recall, found.f1)),
                f"({', '.join(map(str, counts))})",
                f"{row.unparsed} of {row.read}" if row.rule else "",
            ]
        )
    return lines
