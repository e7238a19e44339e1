"""The generator's prompt: the interface, what gets rejected and why, and a few examples out of S."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from evoenv.admission.novelty import Matrix, unit_rows
from evoenv.environment.answers import extract_source
from evoenv.pool.tags import RULES
from evoenv.prompts.texts import fenced, fill, load_prompt
from evoenv.records import Message, derive_seed

GeneratorPrompt: TypeAlias = Literal["full", "guided", "short"]
GENERATOR_PROMPTS: dict[GeneratorPrompt, str] = {
    "full": "generator_v1",
    "guided": "generator_guided_v2",
    "short": "generator_short_v1",
}
"""`short` says only what a small model can hold; a long list of rules crowds the examples out of its attention.
`guided` is for models that write Python but forget what methods share: it gives the form of an environment whose answer
is an integer, so that its question and its computation are left to be written."""

TOPICS_PROMPT = "generator_topics_v1"

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
"""After this many repeated draws the next list is looked for among some others."""


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
    vectors: Matrix,
    count: int,
    seeds: Sequence[int],
    choice: Literal["diverse", "random"] = "diverse",
    shown: Callable[[Sequence[int]], Iterable[Hashable]] = tuple,
) -> list[list[int]]:
    """Draw one list of examples for each seed; no two prompts show the same examples while S allows it.

    `shown` says which examples of a list its prompt shows: the limit may cut some. A list is drawn with its seed and
    drawn again while another prompt shows the same. When no other list is found, a new round begins.
    """
    lists: list[list[int]] = []
    used: set[frozenset[Hashable]] = set()
    for seed in seeds:
        drawn = choose_examples(vectors, count, seed, choice)
        redrawn = (choose_examples(vectors, count, derive_seed("redraw", seed, n), choice) for n in range(1, _REDRAWS))
        others = itertools.chain(redrawn, _other_lists(len(vectors), len(drawn), seed, len(used)))
        for rows in itertools.chain([drawn], others):
            examples = frozenset(shown(rows))
            if not examples or examples not in used:
                break
        else:
            used.clear()
            rows, examples = drawn, frozenset(shown(drawn))
        used.add(examples)
        lists.append(rows)
    return lists


def _other_lists(total: int, size: int, seed: int, used: int) -> Iterator[list[int]]:
    """Yield lists of `size` members to look through: one more than are `used`, then one that each member leads."""
    for members in itertools.islice(itertools.combinations(range(total), size), used + 1):
        rows = list(members)
        random.Random(seed).shuffle(rows)
        yield rows
    for first in range(total):
        yield [first, *(row for row in range(total) if row != first)][:size]


def choose_topics(known: Iterable[Collection[str]], count: int, seed: int) -> tuple[str, ...]:
    """Draw `count` different tags with `seed`, each in proportion to 1 / (1 + how many of the `known` have it)."""
    having = Counter(tag for tags in known for tag in tags)
    rng = random.Random(seed)
    left = [rule.tag for rule in RULES]
    chosen: list[str] = []
    while left and len(chosen) < count:
        (tag,) = rng.choices(left, [1 / (1 + having[tag]) for tag in left])
        left.remove(tag)
        chosen.append(tag)
    return tuple(chosen)


def form_shown(version: GeneratorPrompt) -> str | None:
    """Return the environment that every prompt of this version shows beside its examples, if there is one."""
    return extract_source(load_prompt(GENERATOR_PROMPTS[version])) if version == "guided" else None


def generator_messages(
    examples: Sequence[Example],
    version: GeneratorPrompt = "full",
    max_prompt_tokens: int = 8192,
    topics: Sequence[str] = (),
) -> tuple[tuple[Message, ...], tuple[str, ...]]:
    """Return the chat prompt and the ids of the examples it really shows (the candidate's parents).

    Examples that would take the prompt over the limit are left out from the end; the first always stays. `topics` are
    named after everything else, where a small model remembers them.
    """
    template = load_prompt(GENERATOR_PROMPTS[version])
    if topics:
        words = " and ".join(topic.replace("-", " ") for topic in topics)
        template = f"{template.rstrip()}\n\n{fill(load_prompt(TOPICS_PROMPT), {'topics': words})}"
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
