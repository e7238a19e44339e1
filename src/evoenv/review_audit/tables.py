"""The paper's table: how far reviews, the mechanical checks, and both together agree with the labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from evoenv.admission.review import Rule, review_passes
from evoenv.records import Review
from evoenv.review_audit.agreement import Agreement, tally
from evoenv.review_audit.journal import Mechanical, VerdictLedger
from evoenv.review_audit.labels import LabelledSet

Checks = Literal["mechanical", "review", "both", "always sound", "always buggy"]
RULES: tuple[Rule, ...] = ("single", "majority", "any-reject", "all-reject")
DEPLOYED: Rule = "any-reject"


@dataclass(frozen=True, slots=True)
class TableRow:
    """One way to decide, and its agreement with the labels."""

    checks: Checks
    rule: Rule | None
    agreement: Agreement
    unparsed: int = 0
    """Of the reviews that this rule reads, those without a verdict; they count as rejects."""
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


@dataclass(frozen=True, slots=True)
class Audit:
    labelled: LabelledSet
    mechanical: dict[str, Mechanical]
    reviews: dict[str, tuple[Review, ...]]
    rows: tuple[TableRow, ...]
    kinds: tuple[KindRow, ...]

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
                 "both": row.both}
                for row in self.kinds
            ],
            "items": [
                {
                    "name": item.name,
                    "label": "buggy" if item.buggy else "sound",
                    "kind": item.kind,
                    "note": item.note,
                    "layer": self.mechanical[item.name].layer,
                    "findings": list(self.mechanical[item.name].codes),
                    "verdicts": [review.verdict for review in self.reviews.get(item.name, ())],
                }
                for item in self.labelled.items
            ],
        }  # fmt: skip


def summarise(labelled: LabelledSet, kept: VerdictLedger, *, reviews: int) -> Audit:
    """Make the table from what was found; without reviews (`reviews` is 0) the mechanical row alone."""
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
    kinds = _kinds(labelled, mechanical, refused.get(DEPLOYED))
    return Audit(labelled, {name: kept.mechanical[name] for name in labels}, said, tuple(rows), kinds)


def _unparsed(said: Iterable[Sequence[Review]], rule: Rule) -> tuple[int, int]:
    read: list[Review] = [review for reviews in said for review in (reviews[:1] if rule == "single" else reviews)]
    return sum(review.verdict == "unparseable" for review in read), len(read)


def _kinds(labelled: LabelledSet, mechanical: dict[str, bool], review: dict[str, bool] | None) -> tuple[KindRow, ...]:
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
        )
        for kind, members in names.items()
    )


def table_text(rows: Sequence[TableRow]) -> list[list[str]]:
    """Write the cells as they are shown: percentages, and the confusion in the paper's order."""
    words = {
        "mechanical": ("L1-L5", ""),
        "review": ("review", ""),
        "both": ("both", ""),
        "always sound": ("always", "sound"),
        "always buggy": ("always", "buggy"),
    }
    rules = {"single": "K = 1", "majority": "majority", "any-reject": "any-reject", "all-reject": "all-reject"}
    lines = []
    for row in rows:
        found = row.agreement
        counts = (found.true_positives, found.false_positives, found.true_negatives, found.false_negatives)
        lines.append(
            [
                words[row.checks][0],
                rules[row.rule] if row.rule else words[row.checks][1],
                *(f"{100 * value:.1f}%" for value in (found.accuracy, found.precision, found.recall, found.f1)),
                f"({', '.join(map(str, counts))})",
                f"{row.unparsed} of {row.read}" if row.rule else "",
            ]
        )
    return lines
