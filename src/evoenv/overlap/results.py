"""What an overlap audit found, and its file in the run's directory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from evoenv.durable import write_document

FOLDER = "overlap"
FORMAT = 1
TEXT_CUT = 2000
"""Characters of a text that are kept with a pair."""


class Match(msgspec.Struct, frozen=True):
    """The nearest prompts of one problem."""

    problem: str
    ngram: float
    """The largest share of the problem's n-grams that one prompt holds."""
    cosine: float
    """The largest cosine of embeddings with a prompt."""
    within: float | None
    """The largest cosine with another problem of the same suite: how alike texts of this kind are anyway."""


class Pair(msgspec.Struct, frozen=True):
    """A problem and a prompt that are close by one of the two measures."""

    by: str
    """`ngram` or `cosine`."""
    problem: str
    environment: str
    name: str
    seed: int
    difficulty: int
    original: bool
    """Whether the run started with the environment."""
    ngram: float
    """The share of the problem's n-grams that this prompt holds."""
    cosine: float
    shared: str
    """The longest run of words that both have."""
    problem_text: str
    prompt_text: str


class Overlap(msgspec.Struct, frozen=True):
    """One pool against one suite."""

    format: int
    pool: str
    suite: str
    evoenv: str
    n: int
    embedder: str
    environments: int
    prompts: int
    not_rendered: int
    """Instances that could not be generated."""
    difficulties: tuple[int, ...]
    instances: int
    seed: int
    matches: tuple[Match, ...]
    pairs: tuple[Pair, ...]

    def counts(self) -> dict[str, int]:
        """Count problems above some thresholds."""
        return {
            "problems": len(self.matches),
            "share_an_ngram": sum(match.ngram > 0 for match in self.matches),
            "half_of_their_ngrams": sum(match.ngram >= 0.5 for match in self.matches),
            "cosine_0.8": sum(match.cosine >= 0.8 for match in self.matches),
            "cosine_0.9": sum(match.cosine >= 0.9 for match in self.matches),
        }


def write_overlap(path: Path, overlap: Overlap) -> None:
    """Write the document, with the counts on top."""
    write_document(path, {"counts": overlap.counts(), **msgspec.to_builtins(overlap)})


def read_overlaps(run_directory: Path) -> list[Overlap]:
    """Read what audits left in a run, by suite; what is no such document is left out."""
    found = []
    for path in sorted((run_directory / FOLDER).glob("*.json")):
        try:
            document: Any = msgspec.json.decode(path.read_bytes())
            overlap = msgspec.convert(document, Overlap)
        except (OSError, msgspec.MsgspecError):
            continue
        if overlap.format == FORMAT and overlap.matches:
            found.append(overlap)
    return found
