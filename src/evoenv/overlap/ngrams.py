"""N-grams of words that two texts share. Pure.

Words are runs of letters or digits, in lower case; punctuation and mark-up do not count. A problem with fewer than n
words counts as one gram of all its words.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

_WORD = re.compile(r"[^\W_]+")

Gram = tuple[str, ...]


def words_of(text: str) -> list[str]:
    """Split a text into words."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).lower())


def grams_of(words: Sequence[str], n: int) -> set[Gram]:
    """Return the distinct runs of n words."""
    return {tuple(words[begin : begin + n]) for begin in range(len(words) - n + 1)}


@dataclass(frozen=True, slots=True)
class Contained:
    """How much of a problem stands in the prompt that has most of it."""

    share: float
    """Of the problem's grams."""
    prompt: int | None
    """Position of that prompt; None if no prompt has any."""


def contained(problems: Iterable[str], prompts: Sequence[str], n: int) -> list[Contained]:
    """Find for each problem the prompt that holds the largest share of its n-grams; the first of several."""
    spoken = [words_of(prompt) for prompt in prompts]
    indices: dict[int, dict[Gram, list[int]]] = {}

    def index_of(size: int) -> dict[Gram, list[int]]:
        if size not in indices:
            index: dict[Gram, list[int]] = {}
            for position, words in enumerate(spoken):
                for gram in grams_of(words, size):
                    index.setdefault(gram, []).append(position)
            indices[size] = index
        return indices[size]

    found = []
    for problem in problems:
        words = words_of(problem)
        size = min(n, len(words))
        grams = grams_of(words, size) if size else set()
        hits = Counter(position for gram in grams for position in index_of(size).get(gram, ()))
        if not hits:
            found.append(Contained(0.0, None))
            continue
        most = max(hits.values())
        found.append(Contained(most / len(grams), min(position for position, count in hits.items() if count == most)))
    return found


def longest_shared(first: str, second: str) -> str:
    """Return the longest run of words that both texts have."""
    one, other = words_of(first), words_of(second)
    match = SequenceMatcher(None, one, other, autojunk=False).find_longest_match()
    return " ".join(one[match.a : match.a + match.size])
