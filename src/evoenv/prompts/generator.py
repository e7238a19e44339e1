"""The generator's prompt: the interface, what gets rejected and why, and a few examples out of S."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from evoenv.prompts.texts import fenced, fill, load_prompt
from evoenv.records import Message

if TYPE_CHECKING:
    from evoenv.admission.novelty import Matrix

GENERATOR_PROMPTS = {"full": "generator_v1", "short": "generator_short_v1"}
"""`short` says only what a small model can hold; a long list of rules crowds the examples out of its attention."""

CHARS_PER_TOKEN = 3
"""Code gives three to four characters per token; the lower figure keeps a prompt inside its token limit."""


@dataclass(frozen=True, slots=True)
class Example:
    """A member of S that a prompt may show."""

    environment_id: str
    source: str


def choose_examples(
    vectors: Matrix, count: int, seed: int, choice: Literal["diverse", "random"] = "diverse"
) -> list[int]:
    """Row numbers of `count` examples of S, drawn with `seed`.

    `diverse`: the first is drawn, each further one is the farthest from its nearest chosen (greedy max-min),
    the lower row on ties. `random`: drawn without replacement.
    """
    import numpy as np  # here, so that reading a response (`evoenv validate`) starts without it

    from evoenv.admission.novelty import unit_rows

    rng = random.Random(seed)
    total = len(vectors)
    if choice == "random" or total <= 1:
        return rng.sample(range(total), min(count, total))
    rows = unit_rows(vectors)
    chosen = [rng.randrange(total)]
    nearest = rows @ rows[chosen[0]]
    while len(chosen) < min(count, total):
        nearest[chosen] = np.inf  # never twice, not even where S holds two equal vectors
        chosen.append(int(nearest.argmin()))
        nearest = np.maximum(nearest, rows @ rows[chosen[-1]])
    return chosen[:count]


def generator_messages(
    examples: Sequence[Example], version: Literal["full", "short"] = "full", max_prompt_tokens: int = 8192
) -> tuple[tuple[Message, ...], tuple[str, ...]]:
    """The chat prompt and the ids of the examples it really shows (the candidate's parents).

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


# --------------------------------------------------------------------------- reading the response

_FENCE = re.compile(r"[ \t]*(`{3,})[ \t]*([^`\s]*)[^`]*$")
_PYTHON = {"", "python", "py", "python3"}


def extract_source(response: str) -> str | None:
    """The longest fenced Python block (of equals the later one), or None; an unclosed last fence runs to the end.

    One pass over the lines. A thinking block is dropped first: drafts in it are not the answer.
    """
    if response.rfind("<think>") > response.rfind("</think>"):
        return None
    text = response[response.rfind("</think>") + len("</think>") :] if "</think>" in response else response
    best: str | None = None
    block: list[str] | None = None
    fence, language = "", ""
    for line in [*text.split("\n"), None]:
        mark = _FENCE.match(line.rstrip("\r")) if line is not None and "```" in line else None
        if block is None:
            if mark is not None:
                block, fence, language = [], mark[1], mark[2].lower()
            continue
        closes = mark is not None and not mark[2] and len(mark[1]) >= len(fence)
        if line is not None and not closes:
            block.append(line)
            continue
        source = "\n".join(block)
        if language in _PYTHON and source.strip() and (best is None or len(source) >= len(best)):
            best = source
        block = None
    return best
