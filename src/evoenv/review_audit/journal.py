"""The file of an audit: a header, then one line per verdict, appended and synced as they come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from evoenv.durable import Ledger
from evoenv.records import Recomputation, Review


@dataclass(frozen=True, slots=True)
class Mechanical:
    """The layer that an environment reached, and what was found where it stopped."""

    layer: int
    codes: tuple[str, ...] = ()

    @property
    def rejects(self) -> bool:
        return self.layer < 5


@dataclass(frozen=True, slots=True)
class Cost:
    """Tokens that were spent on an environment; a prompt counts once, however many responses it had."""

    prompt: int = 0
    sampled: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.prompt + other.prompt, self.sampled + other.sampled)


class _Line(msgspec.Struct, frozen=True):
    item: str
    layer: int | None = None
    codes: tuple[str, ...] = ()
    index: int | None = None
    verdict: Any = None
    text: str = ""
    recomputation: Recomputation | None = None
    tokens: int = 0
    prompt_tokens: int = 0


class VerdictLedger(Ledger):
    """Verdicts by environment; on disk too if `path` is given. May be written from any thread."""

    KIND, FORMAT, WORK, ELSEWHERE = "review-audit", 1, "audit", "choose another --results"

    def __init__(self, path: Path | None, identity: Mapping[str, Any]) -> None:
        self.mechanical: dict[str, Mechanical] = {}
        self.reviews: dict[tuple[str, int], Review] = {}
        self.recomputations: dict[str, Recomputation] = {}
        self.review_cost = Cost()
        self.recomputation_cost = Cost()
        super().__init__(path, identity)

    def add_mechanical(self, name: str, verdict: Mechanical) -> None:
        self._add({"item": name, "layer": verdict.layer, "codes": verdict.codes})

    def add_review(self, name: str, index: int, review: Review, tokens: int = 0, prompt_tokens: int = 0) -> None:
        """Keep a verdict, and the tokens of the response; the first of an environment also carries its prompt's."""
        line = {"item": name, "index": index, "verdict": review.verdict, "text": review.text}
        self._add({**line, "tokens": tokens, "prompt_tokens": prompt_tokens})

    def add_recomputation(
        self, name: str, recomputation: Recomputation, tokens: int = 0, prompt_tokens: int = 0
    ) -> None:
        """Keep what programs say about an environment, and the tokens of all their responses."""
        found = msgspec.to_builtins(recomputation)
        self._add({"item": name, "recomputation": found, "tokens": tokens, "prompt_tokens": prompt_tokens})

    def reviews_of(self, name: str, count: int) -> tuple[Review, ...]:
        return tuple(self.reviews[name, index] for index in range(count) if (name, index) in self.reviews)

    def _take(self, entry: Any) -> None:
        line = msgspec.convert(entry, _Line)
        if line.layer is not None:
            self.mechanical[line.item] = Mechanical(line.layer, line.codes)
        elif line.index is not None and line.verdict in ("accept", "reject", "unparseable"):
            self.reviews[line.item, line.index] = Review(line.verdict, line.text)
            self.review_cost += Cost(line.prompt_tokens, line.tokens)
        elif line.recomputation is not None:
            self.recomputations[line.item] = line.recomputation
            self.recomputation_cost += Cost(line.prompt_tokens, line.tokens)
        else:
            raise ValueError("neither a layer nor a verdict")
