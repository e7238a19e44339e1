"""Micro-batches by tokens: which responses share a forward pass, and where each token stands in it.

Nothing here changes what is computed. The weights of all tokens are known before the first micro-batch
(`objective.response_weights`), so the gradient is the same sum however it is cut.

A `Bundle` is one prompt with some of its responses. Laid out for the model it is `start, rest 1, rest 2, …`: the start
is the prompt and what all responses begin with, a rest is what a response goes on with, at the positions that follow
the start. The attention lets a rest see the start and itself only, so the start is computed once for the group instead
of once per response, and responses that are equal to the last token are computed once as well. The last token of a
response predicts nothing that is trained on, so it is not fed to the model at all.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
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
        shared = shared_start(self.rows)
        return len(self.prompt_ids) + shared + sum(same[0].fed_tokens - shared for same in equal_responses(self.rows))


def shared_start(rows: Sequence[Row]) -> int:
    """Return how many tokens all responses begin with that are fed to the model in each of them."""
    responses = [row.response_ids for row in rows]
    first, last = min(responses), max(responses)  # any two in between have at least as much in common
    most = min(row.fed_tokens for row in rows)
    return next((place for place in range(most) if first[place] != last[place]), most)


def equal_responses(rows: Iterable[Row]) -> list[list[Row]]:
    """Put rows with the same response together, in the order in which each comes first."""
    by_response: dict[bytes, list[Row]] = {}
    for row in rows:
        by_response.setdefault(row.response_ids.tobytes(), []).append(row)
    return list(by_response.values())


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
        prompt, shared = members[0].prompt_ids, shared_start(members)
        responses = equal_responses(members)
        sizes = [same[0].fed_tokens - shared for same in responses]
        rooms = (budget, budget * CHECKPOINT_ROOM) if checkpointing else (budget,)
        plans = [
            [
                Bundle(prompt, tuple(row for same in part for row in same))
                for part in first_fit(responses, sizes, max(room - len(prompt) - shared, *sizes, 0))
            ]
            for room in rooms
        ]
        chosen += min(plans, key=cost)
    return chosen


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
class Span:
    """Where a bundle stands in a packed row: its start, the length of what all share, (start, length) of each rest."""

    start: int
    shared: int
    rests: tuple[tuple[int, int], ...]


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
        start, prompt, common = len(ids), len(bundle.prompt_ids), shared_start(bundle.rows)
        shared = prompt + common
        ids += bundle.prompt_ids
        ids += bundle.rows[0].response_ids[:common]
        positions += range(shared)
        rests = []
        for same in equal_responses(bundle.rows):
            first, rest = len(ids), same[0].fed_tokens - common
            ids += same[0].response_ids[common:-1]
            positions += range(shared, shared + rest)
            rests.append((first, rest))
            for row in same:
                predicts += range(start + prompt - 1, start + shared)
                predicts += range(first, first + rest)
                rows.append(row)
        spans.append(Span(start, shared, tuple(rests)))
    return Layout(ids, positions, tuple(spans), tuple(rows), predicts)
