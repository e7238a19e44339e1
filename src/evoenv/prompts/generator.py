"""The generator's prompt: the interface, what gets rejected and why, and a few examples out of S."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from evoenv.admission.novelty import Matrix, unit_rows
from evoenv.prompts.texts import fenced, fill, load_prompt
from evoenv.records import Message, derive_seed

GENERATOR_PROMPTS = {"full": "generator_v1", "short": "generator_short_v1"}
"""`short` says only what a small model can hold; a long list of rules crowds the examples out of its attention."""

CHARS_PER_TOKEN = 3
"""Code gives three to four characters per token; the lower figure keeps a prompt inside its token limit."""


@dataclass(frozen=True, slots=True)
class Example:
    """A member of S that a prompt may show."""

    environment_id: str
    source: str


OFFERED = 2
"""Of this many members drawn at random, the farthest is the next example. Over all of S the same two or three outliers
would be the second example of every prompt."""
_REDRAWS = 64
"""After this many repeated draws the next list is looked up among those that are left."""


def choose_examples(
    vectors: Matrix, count: int, seed: int, choice: Literal["diverse", "random"] = "diverse"
) -> list[int]:
    """Draw the row numbers of `count` examples of S with `seed`.

    `diverse`: the first is drawn; each further one is, of a few drawn at random, the farthest from its nearest chosen,
    the first drawn on ties. `random`: all are drawn, without replacement.
    """
    rng = random.Random(seed)
    total = len(vectors)
    if choice == "random" or total <= 1:
        return rng.sample(range(total), min(count, total))
    rows = unit_rows(vectors)
    chosen = [rng.randrange(total)]
    while len(chosen) < min(count, total):
        left = [row for row in range(total) if row not in chosen]
        offered = rng.sample(left, min(OFFERED, len(left)))
        similarities = (rows[offered] @ rows[chosen].T).max(axis=1)
        chosen.append(offered[int(similarities.argmin())])
    return chosen[:count]


def choose_distinct_examples(
    vectors: Matrix, count: int, seeds: Sequence[int], choice: Literal["diverse", "random"] = "diverse"
) -> list[list[int]]:
    """Draw one list of examples for each seed; no two lists show the same examples while S allows it.

    A list is drawn with its seed and drawn again while another one has the same members. Once all sets of `count`
    members are used, a new round begins.
    """
    size = min(count, len(vectors))
    possible = math.comb(len(vectors), size)
    lists: list[list[int]] = []
    used: set[frozenset[int]] = set()
    for seed in seeds:
        if len(used) == possible:
            used.clear()
        draws = (
            choose_examples(vectors, count, derive_seed("redraw", seed, n) if n else seed, choice)
            for n in range(_REDRAWS)
        )
        chosen = next((rows for rows in draws if frozenset(rows) not in used), None)
        if chosen is None:
            unused = (set_ for set_ in itertools.combinations(range(len(vectors)), size) if frozenset(set_) not in used)
            chosen = list(next(unused))
            random.Random(seed).shuffle(chosen)
        used.add(frozenset(chosen))
        lists.append(chosen)
    return lists


def generator_messages(
    examples: Sequence[Example], version: Literal["full", "short"] = "full", max_prompt_tokens: int = 8192
) -> tuple[tuple[Message, ...], tuple[str, ...]]:
    """Return the chat prompt and the ids of the examples it really shows (the candidate's parents).

    Examples that would take the prompt over the limit are left out from the end; the first always stays.
    """
    template = load_prompt(GENERATOR_PROMPTS[version])
    room = max_prompt_tokens * CHARS_PER_TOKEN - len(template)
    blocks: list[str] = []
    parents: list[str] = []
    for example in examples:
        block = fenced(example.source, "python")
        if blocks and len(block) > room:
            break
        room -= len(block) + 2
        blocks.append(block)
        parents.append(example.environment_id)
    return (Message("user", fill(template, {"examples": "\n\n".join(blocks)})),), tuple(parents)
