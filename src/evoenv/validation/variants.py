"""Wrong answers as text: near a right one, malformed, empty, over-long, or all options at once."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from evoenv.validation.forms import items_of


@dataclass(frozen=True)
class Variant:
    """A wrong answer made from a right one. `may_be_valid`: order or repetition, which many tasks forgive."""

    kind: str
    value: Any
    may_be_valid: bool = False


NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
DEPTH = 4
"""Of lists in lists, beyond which nothing inside is changed: each level has up to three parts to look into."""


def variants(value: Any, depth: int = DEPTH) -> list[Variant]:
    """List wrong answers near a right one, as values of the same shape (to be written in the same form)."""
    if isinstance(value, bool):
        return [Variant("negated", not value)]
    if isinstance(value, int):
        changed = {
            "plus-one": value + 1,
            "minus-one": value - 1,
            "plus-ten": value + 10,
            "doubled": value * 2,
            "negated": -value,
            "zero": 0,
            "plus-hundred": value + 100,
            "plus-thousand": value + 1000,
            "far": value + 10**6 + 3,
        }
        if abs(value) >= 10:  # prefixes and extensions of the digits
            changed |= {"digit-dropped": int(str(value)[:-1]), "digit-added": value * 10 + (7 if value > 0 else -7)}
        return [Variant(kind, other) for kind, other in changed.items() if other != value]
    if isinstance(value, float):
        step = 0.06 + abs(value) * 0.05
        return [
            Variant("plus-a-fiftieth", value + 0.02 + abs(value) * 0.02, may_be_valid=True),
            Variant("plus-a-twentieth", value + step),
            Variant("minus-a-twentieth", value - step),
            Variant("far", value * 7 + 1e6),
        ]
    if isinstance(value, str):
        return _text_variants(value)
    if isinstance(value, dict):
        return _dict_variants(value, depth)
    items = items_of(value)
    return [] if items is None else _sequence_variants(items, depth)


def _symbol_variants(text: str) -> list[Variant]:
    """Exchange one symbol of a word over a few symbols (bits, moves, brackets) for another of the same word."""
    symbols = sorted(set(text))
    if not 2 <= len(symbols) <= 4 or len(text) < 3 or any(symbol.isspace() or symbol == "." for symbol in symbols):
        return []
    places = dict.fromkeys((0, len(text) // 2, len(text) - 1))
    return [
        Variant("symbol-changed", text[:i] + symbols[(symbols.index(text[i]) + 1) % len(symbols)] + text[i + 1 :])
        for i in places
    ]


_FREE_CONSTANT = re.compile(r"\s*[+-]\s*(?:[CcKk]|const(?:ant)?)\s*$")
"""The "+ C" of an antiderivative: whatever stands in its place is as right."""
_TAIL = 40
"""Characters at the end of a text in which it is looked for."""


_FORMULA = re.compile(r"[A-Za-z0-9)]\s*[*+=&|∧∨·×]\s*[A-Za-z0-9(]")
"""Backwards, 2*x is x*2: another way to write the same."""


def _text_variants(text: str) -> list[Variant]:
    constant = _FREE_CONSTANT.search(text, max(0, len(text) - _TAIL))
    if constant is not None and constant.start():
        head = [variant for variant in _plain_variants(text[: constant.start()]) if variant.kind not in _LOOSE]
        return [Variant(variant.kind, variant.value + constant.group(), variant.may_be_valid) for variant in head]
    return _plain_variants(text)


def _plain_variants(text: str) -> list[Variant]:
    if made_of_numbers(text):
        return _symbol_variants(text) + _numeric_text_variants(text, list(NUMBER.finditer(text)))
    result = _symbol_variants(text)
    opposite = _OPPOSITES.get(text.strip().casefold())
    if opposite is not None:
        result.append(Variant("negated", opposite.upper() if text.isupper() else opposite.capitalize()))
    if text:
        swapped = "".join(_other_character(c) if i == len(text) // 2 else c for i, c in enumerate(text))
        result += [Variant("letter-changed", swapped), Variant("letter-added", text + _other_character(text[-1]))]
        if len(text) > 1:
            result.append(Variant("letter-dropped", text[:-1]))
            if len(text) >= 6:
                result.append(Variant("first-half", text[: len(text) // 2]))
            if text[::-1] != text:
                result.append(Variant("reversed", text[::-1], may_be_valid=_FORMULA.search(text) is not None))
        words = text.split()
        if len(words) > 1:
            result.append(Variant("word-dropped", " ".join(words[:-1])))
        separator = next((mark for mark in (", ", ",", "\n", " -> ", " ") if mark in text.strip()), "")
        parts = text.strip().split(separator) if separator else []
        if len(parts) >= 4 and len(set(parts)) >= 3:
            result.append(Variant("shuffled", separator.join(_shuffled(parts)), may_be_valid=True))
    return [
        variant
        for variant in result
        if variant.value.strip() and variant.value.strip().casefold() != text.strip().casefold()
    ]


_OPPOSITES = {"yes": "no", "no": "yes", "true": "false", "false": "true", "valid": "invalid", "invalid": "valid"}


def made_of_numbers(text: str) -> bool:
    """Return whether at least half of a text's characters belong to numbers."""
    digits = sum(len(number) for number in NUMBER.findall(text))
    return digits > 0 and digits * 2 >= len(text.replace(" ", "").replace("\n", ""))


def _shuffled(items: list[Any]) -> list[Any]:
    """Return the items in an order that is neither theirs, nor backwards, nor a rotation."""
    return [*items[1::2], *items[::2][::-1]]


_LOOSE = ("extra", "dropped")
"""Changes that would only touch what stands beside the free constant."""


def _numeric_text_variants(text: str, numbers: list[re.Match[str]]) -> list[Variant]:
    """Change, drop or add a number in a text of numbers, and keep everything between them."""
    result: list[Variant] = []
    for kind, index, delta in (("plus-one", 0, 1), ("last-plus-one", -1, 1), ("minus-one", len(numbers) // 2, -1)):
        match = numbers[index]
        if len(match.group()) < 1000:
            result.append(Variant(kind, text[: match.start()] + _shifted(match.group(), delta) + text[match.end() :]))
    if len(numbers) > 1:
        result.append(Variant("dropped", text[: numbers[-1].start()].rstrip(" ,;\n-")))
        separator = text[numbers[-2].end() : numbers[-1].start()]
        if separator.strip() in ("", ","):
            extra = _shifted(numbers[0].group(), 1) if len(numbers[0].group()) < 1000 else "7"
            result.append(Variant("extra", text[: numbers[-1].end()] + separator + extra + text[numbers[-1].end() :]))
        first, last = numbers[0].group(), numbers[-1].group()
        if first != last:
            middle = text[numbers[0].end() : numbers[-1].start()]
            swapped = text[: numbers[0].start()] + last + middle + first + text[numbers[-1].end() :]
            result.append(Variant("swapped", swapped, may_be_valid=True))
        if len(numbers) >= 4:
            result.append(Variant("shuffled", _with_order(text, numbers), may_be_valid=True))
    else:
        only = numbers[0].group()
        result.append(Variant("far", _shifted(only, 10**6 + 3) if len(only) < 1000 else "7"))
    return [variant for variant in result if variant.value.strip().casefold() != text.strip().casefold()]


def _with_order(text: str, numbers: list[re.Match[str]]) -> str:
    """Put the numbers of a text in another order."""
    parts, end = [], 0
    for match, number in zip(numbers, _shuffled([match.group() for match in numbers]), strict=True):
        parts += [text[end : match.start()], number]
        end = match.end()
    return "".join([*parts, text[end:]])


def _shifted(number: str, delta: int) -> str:
    """Change a number written as text: integers by `delta`, decimals beyond any tolerance that a task should have."""
    if "." in number:
        return repr(float(number) + delta * (0.06 + abs(float(number)) * 0.05))
    return str(int(number) + delta).zfill(len(number))


def _other_character(character: str) -> str:
    if character.isdigit():
        return str((int(character) + 1) % 10) if character.isascii() else "1"
    if character.isascii() and character.isalpha():
        return chr((ord(character.lower()) - ord("a") + 1) % 26 + ord("a"))
    return "q"


def _sequence_variants(items: list[Any], depth: int) -> list[Variant]:
    result: list[Variant] = []
    if items:
        places = {0, len(items) // 2, len(items) - 1}
        inside = {index: variants(items[index], depth - 1) if depth else [] for index in places}
        for kind, index in (
            ("first-changed", 0),
            ("last-changed", len(items) - 1),
            ("middle-changed", len(items) // 2),
        ):
            other = inside[index]
            if other:
                result.append(Variant(kind, [*items[:index], other[0].value, *items[index + 1 :]]))
        if len(items) > 1:
            result += [Variant("dropped", items[:-1]), Variant("first-dropped", items[1:])]
            if all(type(item) is int for item in items):  # what sums, lengths and differences alone do not notice
                result.append(Variant("balanced", [items[0] + 1, *items[1:-1], items[-1] - 1]))
                result.append(Variant("shifted", [item + 1 for item in items]))
            if len(items) > 2:
                result.append(Variant("one-only", items[:1]))
                result += _smallest_changed(items)
            if len(items) >= 4:
                result.append(Variant("shuffled", _shuffled(items), may_be_valid=True))
        extra = inside[len(items) - 1]
        if extra:
            result.append(Variant("extra", [*items, extra[-1].value]))
        result.append(Variant("repeated", [*items, items[-1]], may_be_valid=True))
        if items[::-1] != items:
            result.append(Variant("reversed", items[::-1], may_be_valid=True))
    else:
        result.append(Variant("extra", [1]))
    return [variant for variant in result if variant.value != items]


def _smallest_changed(items: list[Any]) -> list[Variant]:
    """Make the smallest number a little larger, and copy a decimal's nearest neighbour over it.

    A tolerance over all of them, or one as wide as they lie apart, does not notice either.
    """
    if any(type(item) not in (int, float) for item in items):
        return []
    index = min(range(len(items)), key=lambda position: abs(items[position]))
    step = 1 if type(items[index]) is int else 0.06 + abs(items[index]) * 0.05
    result = [Variant("smallest-changed", [*items[:index], items[index] + step, *items[index + 1 :]])]
    others = [item for item in items if type(item) is float and item != items[0]]
    if type(items[0]) is float and others:
        nearest = min(others, key=lambda item: abs(item - items[0]))
        result.append(Variant("neighbour-copied", [nearest, *items[1:]]))
    return result


def _dict_variants(value: dict[Any, Any], depth: int) -> list[Variant]:
    result: list[Variant] = []
    for key in list(value)[:2]:
        other = variants(value[key], depth - 1) if depth else []
        if other:
            result.append(Variant("value-changed", {**value, key: other[0].value}))
    if len(value) > 1:
        result.append(Variant("dropped", dict(list(value.items())[:-1])))
    return result


# --------------------------------------------------------------------------- answers that are no answers

MALFORMED: tuple[str, ...] = (
    "???",
    "I don't know",
    "cannot be determined",
    "no answer",
    "None",
    "null",
    "nan",
    "inf",
    "-inf",
    "-",
    ",",
    "[",
    "[]",
    "{}",
    "()",
    "[[]]",
    '""',
    "<answer></answer>",
    "\\boxed{}",
    "lorem ipsum dolor sit amet",
    "\x00\x01\x02",
    "__import__('os')",
    "True and False",
)
"""None of these is an answer to any task; each breaks some parser that looked sound."""

ODD: tuple[str, ...] = (
    "²",
    "١٢٣",
    "½",
    "1e999",
    "0x1F",
    "1_000",
    "+7",
    "007",
    "−5",
    "3.0",
    "1/2",
    "1,000",
    "7.",
    "Ⅷ",
    ". . .",
    "- - -",
)
"""Numbers of a kind: whether they count is the environment's choice, but no parser may stumble."""

EMPTY: tuple[str, ...] = ("", " ", "\n\n", "\t")


def overlong() -> list[tuple[str, str]]:
    """List answers whose length or value breaks parsers, with names, because a report cannot quote them."""
    return [
        ("5,000 nines", "9" * 5000),
        ("5,000 numbers", "7 " * 5000),
        ("5,000 numbers with commas", "7," * 5000),
        ("numbers ending in a letter", "1 " * 3000 + "x"),
        ("digits ending in a letter", "1" * 3000 + "x"),
        ("letters without end", "a" * 20_000),
        ("deep brackets", "[" * 5000),
        ("deep parentheses", "(" * 3000 + "1" + ")" * 3000),
        ("a huge number", "1" + "0" * 18),
        ("a huge prime", "1000000000000000003"),
        ("a huge negative number", "-1" + "0" * 18),
        ("5,000 lines", "1\n" * 5000),
    ]


def padded(sample: str) -> list[tuple[str, str]]:
    """Put something behind a right answer: parsers may forgive that, but must not stumble or pay more for it."""
    return [("spaces without end", sample + " " * 20_000 + "!")]


def join_options(options: Iterable[str]) -> list[str]:
    """Join all options at once, in the ways a model would hedge."""
    listed = list(options)
    return [separator.join(listed) for separator in (" ", ", ", "\n", " or ", " and ", "/")]
