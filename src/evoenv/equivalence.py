"""Whether two short answers are the same: as text, or as exact numbers. Pure, and safe for hostile text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

LONGEST_NUMBER = 100
_NUMBER = re.compile(r"([+-]?)([0-9][0-9,]*)(\.[0-9]+)?|([+-]?[0-9]+)/([0-9]+)", re.ASCII)
_FRACTION = re.compile(r"(-?)\\[dt]?frac\{(-?[0-9]+)\}\{([0-9]+)\}", re.ASCII)
_LOOSE_SPACE = re.compile(r"(?<!\w) | (?!\w)")
"""One that does not stand between two words or numbers: `1 23` is not `12 3`."""
_GROUPED = re.compile(r"[0-9]{1,3}(,[0-9]{3})*", re.ASCII)


def canonical(answer: str) -> str | Fraction:
    """Return the answer in a form that equal answers share: an exact number if it is one, else the text made plain."""
    text = " ".join(answer.split()).strip("$ ").removesuffix(".").replace("\\,", "").replace("\u2212", "-").casefold()
    if len(text) <= LONGEST_NUMBER:
        number = _number(_FRACTION.sub(r"\1\2/\3", text).replace("--", ""))
        if number is not None:
            return number
    return _LOOSE_SPACE.sub("", text)


def _number(text: str) -> Fraction | None:
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    if match[4] is not None:
        return Fraction(int(match[4]), int(match[5])) if int(match[5]) else None
    if "," in match[2] and not _GROUPED.fullmatch(match[2]):
        return None  # a list of numbers, not one with thousands marked
    return Fraction(f"{match[1]}{match[2].replace(',', '')}{match[3] or ''}")


def same_answer(given: str, expected: str) -> bool:
    return canonical(given) == canonical(expected)


def majority(answers: Sequence[str | None]) -> tuple[str | None, int]:
    """Return the most frequent answer, as it was first written, and how often it was given; the earliest among equals.

    None stands for a response without an answer: it votes for nothing.
    """
    first: dict[str | Fraction, str] = {}
    counts: dict[str | Fraction, int] = {}
    for answer in answers:
        if answer is not None:
            key = canonical(answer)
            first.setdefault(key, answer)
            counts[key] = counts.get(key, 0) + 1
    if not counts:
        return None, 0
    best = max(counts, key=lambda key: counts[key])  # max keeps the earliest of equals
    return first[best], counts[best]
