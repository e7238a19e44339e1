"""Micro-batches by tokens: which responses share a forward pass, and where each token stands in it.

Nothing here changes what is computed. The weights of all tokens are known before the first micro-batch
(`objective.response_weights`), so the gradient is the same sum however it is cut.

A `Bundle` is one prompt with some of its responses. They form a tree: the prompt is its root, and responses part where
they first differ. Laid out for the model it is one `Piece` after another, each with the positions that follow the piece
that it continues. The attention lets a piece see itself and what leads to it only, so whatever responses begin with in
common is computed once instead of once per response. The last token of a response predicts nothing that is trained on,
so it is not fed to the model at all.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

from evoenv.errors import PolicyError
from evoenv.objective import Row

T = TypeVar("T")
CHECKPOINT_TIME = 4 / 3
"""Time of a checkpointed pass against a plain one: forward, forward again, backward (which counts twice)."""
CHECKPOINT_ROOM = 8
"""How many times the budget's tokens a checkpointed pass may hold: it keeps one tensor per layer of about thirty."""


def check_vocabulary(rows: Iterable[Row], vocabulary: int) -> None:
    """Refuse tokens that the model does not know, before any work is done."""
    for row in rows:
        low, high = row.rollout.bounds
        if not 0 <= low <= high < vocabulary:
            raise PolicyError(
                f"a {row.role} response has a token outside the vocabulary of {vocabulary}; use the model's tokenizer."
            )


@dataclass(frozen=True, slots=True)
class Bundle:
    """Responses behind one copy of their prompt."""

    prompt_ids: array[int]
    rows: tuple[Row, ...]

    @property
    def tokens(self) -> int:
        """Count what is computed."""
        return len(self.prompt_ids) + tree_size(self.rows)


def fed(row: Row) -> array[int]:
    """Return the response tokens that the model reads."""
    return row.response_ids[:-1]


def common_start(one: Sequence[int], other: Sequence[int]) -> int:
    """Return how many tokens both begin with."""
    pairs = zip(one, other, strict=False)
    return next((place for place, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def tree_size(rows: Iterable[Row]) -> int:
    """Count the tokens of responses that are fed, what several begin with only once."""
    texts = sorted(map(fed, rows))  # a text has most in common with one of its neighbours
    again = sum(common_start(*pair) for pair in pairwise(texts))
    return sum(map(len, texts)) - again


def bundle_rows(rows: Iterable[Row], budget: int, *, share_prompts: bool, checkpointing: bool = True) -> list[Bundle]:
    """Put rows with equal prompts behind one copy of it, at the least cost in computed tokens.

    Up to the budget a bundle's activations are held; a larger one is checkpointed (`needs_checkpointing`), which costs
    a third more time and hardly any memory. So a group behind a long prompt has a choice: several bundles, each with a
    copy of the prompt, or one that is checkpointed. A response cannot be cut: a single long one may exceed any budget.
    """
    if not share_prompts:
        return [Bundle(row.prompt_ids, (row,)) for row in rows]
    by_prompt: dict[bytes, list[Row]] = {}
    for row in rows:
        by_prompt.setdefault(row.prompt_ids.tobytes(), []).append(row)

    def cost(bundles: Iterable[Bundle]) -> float:
        return sum(
            bundle.tokens * (CHECKPOINT_TIME if needs_checkpointing(bundle.tokens, budget) else 1.0)
            for bundle in bundles
        )

    chosen: list[Bundle] = []
    for members in by_prompt.values():
        whole = Bundle(members[0].prompt_ids, tuple(members))
        rooms = (budget, budget * CHECKPOINT_ROOM) if checkpointing else (budget,)
        chosen += min(([whole] if whole.tokens <= room else _cut(whole, room) for room in rooms), key=cost)
    return chosen


def _cut(whole: Bundle, room: int) -> list[Bundle]:
    """Cut a bundle into some that fit; equal responses stay together, what else they share is not counted on."""
    by_text: dict[bytes, list[Row]] = {}
    for row in whole.rows:
        by_text.setdefault(fed(row).tobytes(), []).append(row)
    responses = list(by_text.values())
    sizes = [same[0].fed_tokens for same in responses]
    parts = first_fit(responses, sizes, max(room - len(whole.prompt_ids), *sizes))
    return [Bundle(whole.prompt_ids, tuple(row for same in part for row in same)) for part in parts]


def needs_checkpointing(tokens: int, budget: int) -> bool:
    """Return whether the activations of this many tokens are too many to be held."""
    return tokens > budget


def pack_bundles(bundles: Sequence[Bundle], budget: int) -> list[tuple[Bundle, ...]]:
    """Group bundles that go through the model end to end in one row: no padding at all."""
    return [tuple(part) for part in first_fit(bundles, [bundle.tokens for bundle in bundles], budget)]


def pad_batches(rows: Sequence[Row], budget: int) -> list[tuple[Row, ...]]:
    """Group rows of similar length, the padded rectangle within the budget: for models that cannot pack."""
    ordered = sorted(rows, key=lambda row: len(row.prompt_ids) + row.fed_tokens, reverse=True)
    batches: list[list[Row]] = []
    widest = 0
    for row in ordered:
        if batches and (len(batches[-1]) + 1) * widest <= budget:
            batches[-1].append(row)
        else:
            batches.append([row])
            widest = len(row.prompt_ids) + row.fed_tokens
    return [tuple(batch) for batch in batches]


def first_fit(items: Sequence[T], sizes: Sequence[int], room: int) -> list[list[T]]:
    """Pack first-fit decreasing: the largest first, each into the first bin that still has room. Deterministic."""
    bins: list[tuple[int, list[T]]] = []
    for index in sorted(range(len(items)), key=lambda index: -sizes[index]):
        for slot, (used, members) in enumerate(bins):
            if used + sizes[index] <= room:
                members.append(items[index])
                bins[slot] = (used + sizes[index], members)
                break
        else:
            bins.append((sizes[index], [items[index]]))
    return [members for _, members in bins]


@dataclass(frozen=True, slots=True)
class Piece:
    """Tokens of a tree that stand one after another: how many, and which piece they continue."""

    length: int
    parent: int | None
    """None: the first piece, which begins with the prompt."""


@dataclass(frozen=True, slots=True)
class Span:
    """Where a bundle stands in a packed row, and its pieces in the order in which they are laid out."""

    start: int
    pieces: tuple[Piece, ...]

    @property
    def length(self) -> int:
        return sum(piece.length for piece in self.pieces)


@dataclass(frozen=True, slots=True)
class Layout:
    """A packed row: token ids, positions, spans for the attention, and which position predicts which token."""

    ids: list[int]
    positions: list[int]
    spans: tuple[Span, ...]
    rows: tuple[Row, ...]
    predicts: list[int]
    """For every response token, in the order of `rows`, the place whose output predicts it."""


def lay_out(bundles: Sequence[Bundle]) -> Layout:
    """Put bundles end to end."""
    ids: list[int] = []
    positions: list[int] = []
    spans: list[Span] = []
    rows: list[Row] = []
    predicts: list[int] = []
    for bundle in bundles:
        tree = _Tree(bundle, len(ids))
        spans.append(Span(len(ids), tuple(tree.pieces)))
        ids += tree.ids
        positions += tree.positions
        rows += bundle.rows
        for row in bundle.rows:
            predicts += tree.way(row)
    return Layout(ids, positions, tuple(spans), tuple(rows), predicts)


class _Tree:
    """A bundle's pieces, each before those that continue it."""

    def __init__(self, bundle: Bundle, start: int) -> None:
        self._start, self._prompt = start, len(bundle.prompt_ids)
        self.ids = list(bundle.prompt_ids)
        self.positions = list(range(self._prompt))
        self.pieces: list[Piece] = []
        self._ways: list[list[int]] = []
        self._ends: dict[bytes, int] = {}
        self._grow(list(map(fed, bundle.rows)), 0, None, [start + self._prompt - 1])

    def way(self, row: Row) -> list[int]:
        """Return the places that lead to a response's last token, from the prompt's last on: each predicts the next."""
        return self._ways[self._ends[fed(row).tobytes()]]

    def _grow(self, texts: Sequence[array[int]], depth: int, parent: int | None, before: list[int]) -> None:
        """Add the piece with which all these texts, alike up to `depth`, go on, and what follows it."""
        shared = common_start(min(texts), max(texts))  # any two in between have at least as much in common
        number, first = len(self.pieces), self._start + len(self.ids)
        self.ids += texts[0][depth:shared]
        self.positions += range(self._prompt + depth, self._prompt + shared)
        self.pieces.append(Piece(shared - depth + (self._prompt if parent is None else 0), parent))
        self._ways.append([*before, *range(first, first + shared - depth)])
        branches: dict[int, list[array[int]]] = {}
        for text in texts:
            if len(text) > shared:
                branches.setdefault(text[shared], []).append(text)
            else:
                self._ends[text.tobytes()] = number
        for branch in branches.values():
            self._grow(branch, shared, number, self._ways[number])
