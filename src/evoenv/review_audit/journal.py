"""The file of an audit: a header, then one line per verdict, appended and synced as they come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from evoenv.durable import Ledger
from evoenv.records import Review


@dataclass(frozen=True, slots=True)
class Mechanical:
    """The layer that an environment reached, and what was found where it stopped."""

    layer: int
    codes: tuple[str, ...] = ()

    @property
    def rejects(self) -> bool:
        return self.layer < 5


class _Line(msgspec.Struct, frozen=True):
    item: str
    layer: int | None = None
    codes: tuple[str, ...] = ()
    index: int | None = None
    verdict: Any = None
    text: str = ""


class VerdictLedger(Ledger):
    """Verdicts by environment; on disk too if `path` is given. May be written from any thread."""

    KIND, FORMAT, WORK, ELSEWHERE = "review-audit", 1, "audit", "choose another --results"

    def __init__(self, path: Path | None, identity: Mapping[str, Any]) -> None:
        self.mechanical: dict[str, Mechanical] = {}
        self.reviews: dict[tuple[str, int], Review] = {}
        super().__init__(path, identity)

    def add_mechanical(self, name: str, verdict: Mechanical) -> None:
        self._add({"item": name, "layer": verdict.layer, "codes": verdict.codes})

    def add_review(self, name: str, index: int, review: Review) -> None:
        self._add({"item": name, "index": index, "verdict": review.verdict, "text": review.text})

    def reviews_of(self, name: str, count: int) -> tuple[Review, ...]:
        return tuple(self.reviews[name, index] for index in range(count) if (name, index) in self.reviews)

    def _take(self, entry: Any) -> None:
        line = msgspec.convert(entry, _Line)
        if line.layer is not None:
            self.mechanical[line.item] = Mechanical(line.layer, line.codes)
        elif line.index is not None and line.verdict in ("accept", "reject", "unparseable"):
            self.reviews[line.item, line.index] = Review(line.verdict, line.text)
        else:
            raise ValueError("neither a layer nor a verdict")
